"""The chart for clusters."""
