"""Intervals with a formula of their own: of a mean, a share, a quantile, a table of labels, or over clusters."""
