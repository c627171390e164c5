"""Outputs that come from the caller's own code."""
