"""The queries and the cost of an experiment, before anything runs."""
