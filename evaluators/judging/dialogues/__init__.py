"""Verdicts of a judge about a whole conversation, each about a message that it names by its index."""
