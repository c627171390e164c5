"""What the family `phi` shares with its training: which passages of a text are read, and words that explain."""
