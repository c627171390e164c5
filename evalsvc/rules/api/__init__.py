"""The API of rules."""
