"""Decisions of gates: pass, fail or undecided, and the number of further examples needed for a decision."""
