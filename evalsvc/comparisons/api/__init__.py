"""HTTP, a module for each noun."""
