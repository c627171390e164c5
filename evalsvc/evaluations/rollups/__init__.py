"""Daily counts of an account's evaluations: maintained, read and recounted."""
