"""Monitors of histories: alarms when an evaluator's pass rate or mean score changes."""
