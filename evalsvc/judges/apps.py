"""Connections to LLM endpoints: their addresses, prices and rate limits."""

from django.apps import AppConfig


class JudgesConfig(AppConfig):
    """The `judges` app."""

    name = "evalsvc.judges"
    label = "judges"
