"""Move in: what other services and their export files hold, as evaluations, datasets and labels of an account."""
