"""Commands by noun: comparisons, reviews, benchmarks, rules, monitors and alarms."""
