"""Thresholds and probabilities from labelled scores of one evaluator and profile."""
