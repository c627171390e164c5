"""Evaluations: samples with their verdicts side by side, one with all it rests on, and what is done with it."""
