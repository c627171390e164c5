"""Comparing two texts: normal forms, tokens, overlap. Shared by the families that need a gold answer."""
