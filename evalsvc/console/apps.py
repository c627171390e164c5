"""Pages on which people work."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """The `console` app. It has no tables."""

    name = "evalsvc.console"
    label = "console"
