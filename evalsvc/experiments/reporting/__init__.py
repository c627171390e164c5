"""What people watch, results and their files."""
