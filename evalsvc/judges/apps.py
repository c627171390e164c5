"""Connections to LLM endpoints: where they live, what they cost, how fast they may be called."""

from django.apps import AppConfig


class JudgesConfig(AppConfig):
    """The `judges` app."""

    name = "evalsvc.judges"
    label = "judges"
