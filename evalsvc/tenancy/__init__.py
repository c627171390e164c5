"""Which account and which database role a statement runs for: the wall between tenants, below every app."""
