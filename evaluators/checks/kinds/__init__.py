"""One module for each type of check: the schema of its settings, further validation, and the implementation."""
