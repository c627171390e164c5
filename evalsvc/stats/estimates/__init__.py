"""Estimates of a metric: of this set, of new data, and of parts that hold together."""
