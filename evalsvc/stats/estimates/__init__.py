"""Estimates of a metric while its examples are scored: of this set, and of new data."""
