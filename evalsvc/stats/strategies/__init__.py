"""The strategies that a caller may name, for histories and for sets of examples, in one registry."""
