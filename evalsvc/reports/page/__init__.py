"""A report as one HTML file: no script, nothing loaded from anywhere, every text of a caller's escaped."""
