"""Estimates of a metric: of this set and of new data, of parts that hold together, of clusters."""
