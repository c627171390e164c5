"""Estimates, evidence and comparisons."""
