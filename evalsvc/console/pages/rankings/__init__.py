"""Rankings: which of the outputs of an experiment is better, pair by pair, and the order that follows."""
