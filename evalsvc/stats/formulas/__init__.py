"""Intervals with a formula of their own: of a mean, a share, a quantile or a table of labels."""
