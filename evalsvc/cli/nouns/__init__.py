"""Commands by noun, for what the service keeps: comparisons, reviews, benchmarks."""
