"""Evaluators: what each needs, measures and misses, how right it was, and what it costs."""
