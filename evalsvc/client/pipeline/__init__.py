"""Code whose components are known: what connects them, how each is called, and any runnable as a function."""
