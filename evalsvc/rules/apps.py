"""Rules that score stored spans."""

from django.apps import AppConfig


class RulesConfig(AppConfig):
    """The `rules` app."""

    name = "evalsvc.rules"
    label = "rules"
