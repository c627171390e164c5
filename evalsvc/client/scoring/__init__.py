"""Scores: the caller's own functions, evaluators of the service, and results with both."""
