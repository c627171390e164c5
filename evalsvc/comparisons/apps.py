"""Comparisons of outputs, and the rankings that follow from them."""

from django.apps import AppConfig


class ComparisonsConfig(AppConfig):
    """The `comparisons` app."""

    name = "evalsvc.comparisons"
    label = "comparisons"
