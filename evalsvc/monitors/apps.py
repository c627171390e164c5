"""The `monitors` app."""

from django.apps import AppConfig


class MonitorsConfig(AppConfig):
    """The `monitors` app."""

    name = "evalsvc.monitors"
    label = "monitors"
