"""Paired comparisons of two configs on the same examples, and simultaneous inference over many pairs."""
