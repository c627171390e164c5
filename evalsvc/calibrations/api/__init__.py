"""The HTTP routes of calibrations."""
