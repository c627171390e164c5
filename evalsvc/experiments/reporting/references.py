"""The history of a metric before an experiment, of the same evaluator and profile, as a reference for configs."""

from __future__ import annotations

from typing import Any

from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.reporting.alongside import history_before, parse_metrics
from evalsvc.infra.cache import BoundedCache

MAX_REMEMBERED, FRESH_SECONDS = 500, 60.0
References = dict[str, dict[str, Any] | None]
_remembered: BoundedCache[tuple[int, int], References] = BoundedCache(MAX_REMEMBERED, seconds=lambda: FRESH_SECONDS)


def reference_line(found: dict[str, Any] | None) -> float | None:
    """Return the value of the reference line for configs; None if the history is too short for an interval."""
    return None if found is None or found["lower"] is None else found["value"]


def load_references(plan: ExperimentPlan) -> References:
    """Return, by metric, the interval of its history before the experiment, or None without such a history.

    The history before the start changes only when scores are deleted, so it is read once a minute.
    """
    key = (plan.pk, len(plan.metrics))
    if (cached_references := _remembered.get(key)) is not None:
        return cached_references
    histories = {metric.name: history_before(plan, metric) for metric in parse_metrics(plan)}
    references = {
        name: history if history and history["value"] is not None else None for name, history in histories.items()
    }
    if plan.started_at is not None:
        _remembered.put(key, references)
    return references
