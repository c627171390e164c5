"""Signing in: password, second factor, single sign-on, and the sessions that follow. See docs/adr/0086."""
