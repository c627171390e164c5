"""Estimates of a metric: for this dataset, for new data, and simultaneously for several slices."""
