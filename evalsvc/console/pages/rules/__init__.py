"""Rules that score live spans: the list, one rule with its preview and newest scores, and its form."""
