"""Evals, runs and files, as OpenAI's clients know them."""

from django.apps import AppConfig


class OpenAIEvalsConfig(AppConfig):
    """The `openai_evals` app."""

    name = "evalsvc.openai_evals"
    label = "openai_evals"

    def ready(self) -> None:
        """Hear of the ends of experiments."""
        from evalsvc.experiments.notices import ended
        from evalsvc.openai_evals.events import record_end

        ended.connect(record_end)
