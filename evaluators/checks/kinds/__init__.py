"""One module for each type of check: the schema of its settings, what the schema cannot say, and how it is run."""
