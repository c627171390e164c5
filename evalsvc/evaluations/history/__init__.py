"""Scores of an evaluator and profile: remembered, read, and how sure they are."""
