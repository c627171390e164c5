"""Estimates for examples in clusters: counted by cluster, and displayed with their limitations."""
