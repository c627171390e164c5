"""Files in, rows out: each format's reader, and what all rows must satisfy. Knows no account and no table."""
