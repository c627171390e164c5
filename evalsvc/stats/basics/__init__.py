"""What all statistics share: checks of input, sums that are kept of scores, the shapes of answers."""
