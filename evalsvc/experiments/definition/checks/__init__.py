"""Whether configs, examples and metrics fit each other, before anything runs."""
