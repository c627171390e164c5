"""LLMs that are asked for verdicts: connections, limits, budgets, calls."""
