"""Retries as workers process them: which outputs of a unit to request again, and which metrics to score again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evalsvc.experiments.definition.metrics import CLIENT, Metric
from evalsvc.experiments.models import RETRIES_FROM, UNDECIDED, Output, Retry, Score
from evalsvc.experiments.runner.generate import GeneratedOutput, MustStop, RetryLater
from evalsvc.experiments.runner.store import Unit
from evalsvc.tenancy.scope import account_scope

GIVEN_UP = {"error": "not_configured", "budget": "budget_exhausted"}


@dataclass(frozen=True, slots=True)
class RetryTask:
    """What a unit of a retry is about."""

    number: int
    what: str
    error_types: tuple[str, ...] | None

    def is_done(self, output: Output) -> bool:
        """Return whether an output has been through this retry, but for scores that it may wait for."""
        return (output.retry or 0) >= self.number


def is_retry(addition: int) -> bool:
    """Return whether units of this number are of a retry, and not of the plan or of added metrics."""
    return addition >= RETRIES_FROM


def retry_task(unit: Unit) -> RetryTask:
    """Return what a unit of a retry is about."""
    with account_scope(unit.account_id):
        row = Retry.objects.get(experiment_id=unit.experiment_id, number=unit.addition - RETRIES_FROM)
        return RetryTask(row.number, row.what, None if row.error_types is None else tuple(row.error_types))


def is_scored_by(metric: Metric, addition: int) -> bool:
    """Return whether units of this number score a metric; a retry excludes added metrics that the caller scores."""
    if not is_retry(addition):
        return metric.addition == addition
    return not metric.addition or metric.source != CLIENT


def failed_metrics(unit: Unit, task: RetryTask) -> dict[int, set[str]]:
    """Return, by position, the names of the metrics that failed and are to be scored again."""
    with account_scope(unit.account_id):
        rows = Score.objects.filter(config_id=unit.config_id, pos__gte=unit.from_pos, pos__lt=unit.to_pos)
        rows = rows.filter(error_code__isnull=False).exclude(error_code="not_applicable")
        if task.error_types is None:
            rows = rows.exclude(error_code=UNDECIDED)
        else:
            rows = rows.filter(error_code__in=task.error_types)
        metrics: dict[int, set[str]] = {}
        for pos, metric in rows.values_list("pos", "metric"):
            metrics.setdefault(pos, set()).add(metric)
        return metrics


def select_unscored_outputs(unit: Unit, task: RetryTask, outputs: Mapping[int, Output]) -> list[Output]:
    """Return the outputs that this retry still has to score."""
    if task.what == Retry.What.OUTPUTS:
        return [row for row in outputs.values() if task.is_done(row) and not row.scored]
    return [row for row in outputs.values() if not task.is_done(row)]


def build_final_error(exc: RetryLater | MustStop) -> GeneratedOutput:
    """Return the error of an output when its config cannot be queried: a retry does not stop a config."""
    if isinstance(exc, RetryLater):
        message = "The endpoint has answered 429 again and again."
        return GeneratedOutput("error", error_type="rate_limited", error_message=message)
    return GeneratedOutput("error", error_type=GIVEN_UP.get(exc.reason, "bug"), error_message=exc.detail)
