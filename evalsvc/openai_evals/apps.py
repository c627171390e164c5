"""Evals, runs and files, as OpenAI's clients know them."""

from django.apps import AppConfig


class OpenAIEvalsConfig(AppConfig):
    """The `openai_evals` app."""

    name = "evalsvc.openai_evals"
    label = "openai_evals"
