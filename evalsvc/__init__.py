"""The evaluation service built around the `evaluators` package. Defines only the version and imports nothing."""

__version__ = "0.4.0"
