"""Whether a monitor has anything to read: undecided scores and failed evaluations are left out, and say nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BigIntegerField, QuerySet, Value
from django.db.models.functions import Now

from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.monitors.models import Monitor
from evalsvc.monitors.scores import FAILED, ScoreRow, filter_evaluations

SILENCE = "silence"
MISSING = {
    Monitor.Estimand.LATENCY: "without a latency",
    Monitor.Estimand.TOKENS: "without a number of tokens",
    Monitor.Estimand.COST: "without a cost",
}
LEAST_SILENT = 20
"""Evaluations in a row without a value, from which on it is a warning."""
LOOKED_BACK = timedelta(days=1)
"""Failures are counted so far back."""


@dataclass(frozen=True, slots=True)
class Silence:
    """The evaluations since the last score that a monitor could compare; none of them has a value."""

    n_missing: int
    missing: str
    """What the scores without a value are: undecided, or without what is measured."""
    n_failed: int

    def __str__(self) -> str:
        parts = [f"{self.n_missing} {self.missing}"] if self.n_missing else []
        if self.n_failed:
            parts.append(f"{self.n_failed}{' or more' if self.n_failed == LEAST_SILENT else ''} failed in the last day")
        return f"Nothing to compare: since the last score with a value, {' and '.join(parts)}."


def count_silence(monitor: Monitor, rows: Sequence[ScoreRow]) -> None:
    """Count the undecided scores, and those without a value since the last one with a value."""
    stored: dict[str, Any] = monitor.progress.get(SILENCE, {"n": 0, "since": None})
    n, since = stored["n"], stored["since"]
    for row in rows:
        n, since = (n + 1, since) if row.value is None else (0, row.created_at.isoformat())
        monitor.n_undecided += row.is_undecided
    monitor.progress = monitor.progress | {SILENCE: {"n": n, "since": since}}


def reset_silence(monitor: Monitor, now: datetime) -> None:
    """Forget what had no value until now."""
    monitor.progress = monitor.progress | {SILENCE: {"n": 0, "since": now.isoformat()}}


def find_silences(monitors: Iterable[Monitor]) -> dict[int, Silence]:
    """Return the silence of each active monitor that has 20 evaluations without a value since its last one, or more.

    Of failures at most 20 are counted, those since the last score with a value and within the last day.
    """
    # Failures are what an error rate is of; labels do not fail.
    active = [
        monitor
        for monitor in monitors
        if monitor.state == Monitor.State.ACTIVE and not monitor.is_of_evaluations and monitor.labels is None
    ]
    if not active:
        return {}
    first, *others = [_select_failures(monitor) for monitor in active]
    n_failed = Counter(id for (id,) in first.union(*others, all=True))
    found = {}
    for monitor in active:
        n_missing = monitor.progress.get(SILENCE, {}).get("n", 0)
        if n_missing + n_failed[monitor.pk] >= LEAST_SILENT:
            missing = MISSING.get(Monitor.Estimand(monitor.estimand), "undecided")
            found[monitor.pk] = Silence(n_missing, missing, n_failed[monitor.pk])
    return found


def _select_failures(monitor: Monitor) -> QuerySet[Evaluation, tuple[int]]:
    """Return the monitor's id once for each evaluation that has failed since its last score with a value, of a day."""
    since = monitor.progress.get(SILENCE, {}).get("since")
    rows = Evaluation.objects.filter(
        account_id=monitor.account_id,
        evaluator_id=monitor.evaluator_id,
        profile_name=monitor.profile_name,
        captured=True,
        status__in=FAILED,
        created_at__gt=datetime.fromisoformat(since) if since else monitor.baseline_at,
        request__capture=EvaluationRequest.Capture.ALL,
    )
    rows = rows.filter(created_at__gt=Now() - LOOKED_BACK)
    ids = filter_evaluations(rows, monitor.window).annotate(monitor_id=Value(monitor.pk, BigIntegerField()))
    return ids.values_list("monitor_id")[:LEAST_SILENT]
