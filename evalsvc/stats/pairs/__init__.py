"""Two configs on the same examples: their differences, and what may be said of many pairs at once."""
