"""Searches that people give a name and find again."""
