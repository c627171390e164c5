"""Bring along what an account of Patronus holds: read by its API, oldest first, and kept once however often it runs."""
