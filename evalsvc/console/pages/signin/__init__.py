"""The door: password, code of the second factor."""
