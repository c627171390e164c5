"""Alerts of the running stack."""
