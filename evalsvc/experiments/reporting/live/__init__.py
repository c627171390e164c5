"""What people watch of an experiment while it runs, and when it has ended."""
