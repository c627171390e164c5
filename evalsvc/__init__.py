"""The service around the evaluators. The version stands here only, and nothing is imported."""

__version__ = "0.4.0"
