"""The HTTP edge of evaluations: evaluate (the hot path), search, history."""
