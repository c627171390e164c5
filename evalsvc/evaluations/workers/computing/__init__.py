"""The cpu lane: processes that claim evaluations of all accounts fairly, compute one by one, and write in batches."""
