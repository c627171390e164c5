"""Decisions about a candidate, each stored with its evidence."""

from django.apps import AppConfig


class GatesConfig(AppConfig):
    """The `gates` app."""

    name = "evalsvc.gates"
    label = "gates"
