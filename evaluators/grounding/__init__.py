"""Is a text supported by other texts? Words, numbers, names and negations compared, without a model."""
