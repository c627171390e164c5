"""Signs of life of workers and of the clock: given, kept in Redis, and read."""
