"""Analyses of scored outputs: comparisons, aggregates, labels, components, the Pareto front."""
