"""Evaluations and the history that intervals are computed from."""

from typing import Any

from django.apps import AppConfig


class EvaluationsConfig(AppConfig):
    """The `evaluations` app."""

    name = "evalsvc.evaluations"
    label = "evaluations"

    def ready(self) -> None:
        """Register the LIKE lookups, and what a project holds on to by its evaluations."""
        from evalsvc.evaluations.models import Evaluation
        from evalsvc.projects.selectors import uses

        def evaluations(project: Any) -> str | None:
            rows = Evaluation.objects.filter(account_id=project.account_id, project_id=project.id, captured=True)
            return "evaluations" if rows.exists() else None

        uses.append(evaluations)
