"""The only code that calls other people's servers."""
