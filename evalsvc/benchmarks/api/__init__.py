"""The HTTP routes of benchmarks."""
