"""What cards say in words, for each family."""
