"""History of one evaluator and profile: over time, over n, and how sure it is."""
