"""What is asked of outputs that are scored: comparisons, aggregates, labels, components, the Pareto front."""
