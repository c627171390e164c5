"""Agreement between reviewers, and estimates for the frame from a drawn sample of items."""
