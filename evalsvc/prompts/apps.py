"""The `prompts` app."""

from django.apps import AppConfig


class PromptsConfig(AppConfig):
    """The `prompts` app."""

    name = "evalsvc.prompts"
    label = "prompts"
