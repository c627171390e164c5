"""Pages on which people work."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """The `console` app, which defines no models."""

    name = "evalsvc.console"
    label = "console"
