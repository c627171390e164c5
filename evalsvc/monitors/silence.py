"""Whether a monitor has anything to read: undecided scores and failed evaluations are left out, and say nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import BigIntegerField, QuerySet, Value

from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.monitors.models import Monitor
from evalsvc.monitors.scores import FAILED, ScoreRow, filter_evaluations

SILENCE = "silence"
LEAST_SILENT = 20
"""Evaluations in a row without a value, from which on it is a warning."""


@dataclass(frozen=True, slots=True)
class Silence:
    """The evaluations since the last score that a monitor could compare; none of them has a value."""

    n_undecided: int
    n_failed: int

    def __str__(self) -> str:
        counts = {"undecided": self.n_undecided, "failed": self.n_failed}
        parts = " and ".join(f"{n} {what}" for what, n in counts.items() if n)
        return f"Nothing to compare: since the last score with a value, {parts}."


def count_silence(monitor: Monitor, rows: Sequence[ScoreRow]) -> None:
    """Count the scores without a value, in all and since the last one with a value."""
    stored: dict[str, Any] = monitor.progress.get(SILENCE, {"n": 0, "since": None})
    n, since = stored["n"], stored["since"]
    for row in rows:
        n, since = (n + 1, since) if row.value is None else (0, row.created_at.isoformat())
        monitor.n_undecided += row.value is None
    monitor.progress = monitor.progress | {SILENCE: {"n": n, "since": since}}


def find_silences(monitors: Iterable[Monitor]) -> dict[int, Silence]:
    """Return the silence of each active monitor that has 20 evaluations without a value since its last one, or more.

    Of failures at most 20 are counted, those since the last score with a value.
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
        n_undecided = monitor.progress.get(SILENCE, {}).get("n", 0)
        if n_undecided + n_failed[monitor.pk] >= LEAST_SILENT:
            found[monitor.pk] = Silence(n_undecided, n_failed[monitor.pk])
    return found


def _select_failures(monitor: Monitor) -> QuerySet[Evaluation, tuple[int]]:
    """Return the monitor's id once for each evaluation that has failed since its last score with a value."""
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
    ids = filter_evaluations(rows, monitor.window).annotate(monitor_id=Value(monitor.pk, BigIntegerField()))
    return ids.values_list("monitor_id")[:LEAST_SILENT]
