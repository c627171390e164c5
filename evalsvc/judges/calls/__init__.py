"""Calls to an endpoint: sending, parsing responses, counting, and connection tests."""
