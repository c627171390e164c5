"""Rules that score stored spans."""
