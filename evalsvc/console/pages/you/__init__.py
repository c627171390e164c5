"""The person's own page: second factor, password, sessions."""
