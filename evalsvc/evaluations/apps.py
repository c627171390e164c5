"""Evaluations and the history that intervals are computed from."""

from django.apps import AppConfig


class EvaluationsConfig(AppConfig):
    """The `evaluations` app."""

    name = "evalsvc.evaluations"
    label = "evaluations"

    def ready(self) -> None:
        """Register the LIKE lookups."""
        from evalsvc.evaluations import lookups  # noqa: F401
