"""Traces: search, and the tree of one with its times, its tokens and the scores on its spans."""
