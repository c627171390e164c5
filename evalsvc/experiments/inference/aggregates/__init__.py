"""Aggregates: estimates of slices of the examples, of the values of a knob, and of several experiments at once."""
