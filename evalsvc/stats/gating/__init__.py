"""What a gate may say: shown, the opposite shown, or undecided, and how many more examples would settle it."""
