"""Many configs over one dataset, with estimates while they run."""
