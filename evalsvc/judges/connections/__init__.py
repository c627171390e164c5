"""Connections as callers use them: settings, secrets, validation, and an in-process cache."""
