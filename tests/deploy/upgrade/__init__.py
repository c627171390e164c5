"""Upgrade and rollback without a stop."""
