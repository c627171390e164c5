"""LLMs used as judges: connections, limits, budgets, calls."""
