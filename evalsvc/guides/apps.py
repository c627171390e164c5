"""The guides: the pages of `docs/`, served and searched."""

from django.apps import AppConfig


class GuidesConfig(AppConfig):
    """The `guides` app."""

    name = "evalsvc.guides"
    label = "guides"
