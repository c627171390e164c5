"""Evaluate, capture, search, history: a sample goes in, verdicts with intervals come out."""
