"""The judge lane: one process has hundreds of evaluations in flight, and claims and writes them in batches."""
