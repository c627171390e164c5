"""Move out: all that an account holds, in a file."""
