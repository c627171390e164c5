"""`evalsvc evaluate`: verdicts on samples."""
