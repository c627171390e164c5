"""The `ops` app."""

from django.apps import AppConfig


class OpsConfig(AppConfig):
    """The `ops` app."""

    name = "evalsvc.ops"
    label = "ops"
