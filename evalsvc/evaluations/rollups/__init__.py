"""Counts by day of an account's evaluations: kept, read, and recounted."""
