"""The scheduler and the work on a unit: ask, score, write."""
