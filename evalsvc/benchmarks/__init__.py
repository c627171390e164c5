"""Benchmarks: a frozen dataset, metrics and comparison, executed for one config after another."""
