"""The HTTP edge of monitors and alarms."""
