"""Commands by noun: comparisons, reviews and benchmarks."""
