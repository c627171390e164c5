"""The judge lane: one process holds hundreds of evaluations in flight, and claims and writes them in batches."""
