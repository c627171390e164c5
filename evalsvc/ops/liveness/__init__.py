"""Signs of life of workers and of the clock: sent, stored in Redis, and read."""
