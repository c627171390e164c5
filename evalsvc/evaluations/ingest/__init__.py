"""Scores, results, labels and feedback that come from elsewhere."""
