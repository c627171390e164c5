"""A frozen question, asked of one config after another."""

from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    """The `benchmarks` app."""

    name = "evalsvc.benchmarks"
    label = "benchmarks"
