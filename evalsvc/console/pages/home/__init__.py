"""Home: what happened, what moved, and what waits for a person."""
