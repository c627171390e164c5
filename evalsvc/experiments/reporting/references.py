"""What a metric was before an experiment: the history of the same evaluator and profile, to hold configs to."""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock
from typing import Any

from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.reporting.alongside import history_before, metrics_of

MAX_REMEMBERED, FRESH_SECONDS = 500, 60.0
References = dict[str, dict[str, Any] | None]
_lock = Lock()
_remembered: OrderedDict[tuple[int, int], tuple[float, References]] = OrderedDict()


def references_of(plan: ExperimentPlan) -> References:
    """Return, by metric, the interval of its history before the experiment; None where there is no such history.

    What lies before the start changes only when scores are deleted, so it is read once a minute.
    """
    key = (plan.pk, len(plan.metrics))
    with _lock:
        known = _remembered.get(key)
    if known is not None and time.monotonic() - known[0] < FRESH_SECONDS:
        return known[1]
    found = {metric.name: history_before(plan, metric) for metric in metrics_of(plan)}
    shown = {name: one if one and one["value"] is not None else None for name, one in found.items()}
    if plan.started_at is not None:
        with _lock:
            _remembered[key] = (time.monotonic(), shown)
            while len(_remembered) > MAX_REMEMBERED:
                _remembered.popitem(last=False)
    return shown
