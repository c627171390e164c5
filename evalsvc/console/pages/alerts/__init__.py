"""Alerts: open alarms with their evidence, monitors, and the form that creates one."""
