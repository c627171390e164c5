"""Evaluations and the history that intervals are computed from."""

from pathlib import Path
from typing import Any

from django.apps import AppConfig

FUNCTIONS = (
    "ids", "partitions", "rollups", "dropping", "claims", "history", "tagged", "tags", "stored", "functions", "client",
    "judging", "computing",
)  # fmt: skip
ONLY_FOR_SYSTEM = ("make_partitions(int)", "rows_without_partition(int)", "drop_partitions(text, bigint)")


class EvaluationsConfig(AppConfig):
    """The `evaluations` app."""

    name = "evalsvc.evaluations"
    label = "evaluations"

    def ready(self) -> None:
        """Register the database's functions, and evaluations as a use that prevents the deletion of a project."""
        from evalsvc.evaluations.database.columns import ACCEPTED, ENTRY, VERDICT
        from evalsvc.evaluations.ingest.events import keep_evaluation_events
        from evalsvc.evaluations.models import Evaluation
        from evalsvc.infra.functions import FunctionFiles, register_functions
        from evalsvc.projects.selectors import uses
        from evalsvc.telemetry.services import stored

        def evaluations(project: Any) -> str | None:
            rows = Evaluation.objects.filter(account_id=project.account_id, project_id=project.id, captured=True)
            return "evaluations" if rows.exists() else None

        uses.append(evaluations)
        stored.connect(keep_evaluation_events)
        columns = {"accepted": ACCEPTED, "verdict": VERDICT, "entry": ENTRY}
        files = FunctionFiles(Path(__file__).parent / "sql", FUNCTIONS, columns, ONLY_FOR_SYSTEM)
        register_functions(self.label, files)
