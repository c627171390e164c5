"""One question to a judge: asked in the dialect of the endpoint, tried again, parsed, remembered, and what it used."""
