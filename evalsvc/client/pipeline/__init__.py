"""Code with known components: their connections, how each is called, and any runnable as a function."""
