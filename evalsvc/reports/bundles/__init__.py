"""An experiment as one file, and back: rows as lines of JSON, a digest of each file, and nothing that runs."""
