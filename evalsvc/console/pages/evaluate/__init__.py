"""Evaluate a file of outputs: choose it, map its columns, choose evaluators, and read the results."""
