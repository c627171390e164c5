"""The HTTP edge of events."""
