"""Estimates of one metric of one config: for new data, for this set, and at each look."""
