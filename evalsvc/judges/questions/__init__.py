"""One question to a judge: request dialect, retries, parsing, caching, and usage."""
