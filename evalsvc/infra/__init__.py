"""What every app needs of the machinery below it: Redis, memory of a process, advisory locks, concurrent indexes."""
