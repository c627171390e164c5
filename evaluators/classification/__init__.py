"""What a model of labels is asked for one sample, and what its probabilities come to."""
