"""Declared ranges that are much wider than the scores: nothing is wrong with them, but races take far longer.

Evidence is weighed on the scale of the range: on a fiftieth of it every difference is tiny, and intervals that rest on
the range are as wide as if it were in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Max, Min, Sum

from evalsvc.datasets.models import DatasetVersion
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.models import Aggregate
from evaluators.registry import find_evaluator

WIDE_RANGE = "wide_range"
# In simulation a range 2.5 times as wide costs a race a third more queries.
MUCH_WIDER = 3.0
ENOUGH_SCORES = 30


def is_wide(metric: Metric, lowest: float | None, highest: float | None) -> bool:
    """Return whether a metric's range is much wider than the interval between these; equal scores prove nothing."""
    if metric.value_range is None or metric.binary or lowest is None or highest is None or highest <= lowest:
        return False
    return metric.value_range[1] - metric.value_range[0] >= MUCH_WIDER * (highest - lowest)


def wide_in(metric: Metric, rows: Iterable[Aggregate]) -> list[str]:
    """Return the warning for a metric of a running experiment, by everything that its configs have scored."""
    aggregates = [row for row in rows if row.metric == metric.name and row.scope == Aggregate.Scope.ALL and row.n]
    if sum(row.n for row in aggregates) < ENOUGH_SCORES:
        return []
    lowest = min(row.lowest for row in aggregates if row.lowest is not None)
    return [WIDE_RANGE] if is_wide(metric, lowest, max(row.highest or lowest for row in aggregates)) else []


def wide_before(version: DatasetVersion, metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    """Return the warnings of a plan: by what its evaluators can answer, and by earlier scores on the same dataset."""
    wide_ranges = []
    for i, metric in enumerate(metrics):
        why = describe_evaluator_range(metric) or _describe_earlier_range(version, metric)
        if why and metric.value_range is not None:
            low, high = metric.value_range
            detail = (
                f"The range of {metric.name!r} is {low:g} to {high:g}, and {why}. A narrower one decides with far fewer"
                " queries; a score outside it is an error."
            )
            wide_ranges.append({"pointer": f"/plan/metrics/{i}/value_range", "detail": detail})
    return wide_ranges


def add_range_warnings(answer: dict[str, Any], version: DatasetVersion, metrics: Sequence[Metric]) -> dict[str, Any]:
    """Add the warning to an answer, and the location and reason of each wide range."""
    wide_ranges = wide_before(version, metrics)
    return answer | {
        "warnings": [*answer.get("warnings", ()), *([WIDE_RANGE] if wide_ranges else [])],
        "wide_ranges": wide_ranges,
    }


def describe_evaluator_range(metric: Metric) -> str | None:
    """Return what a metric's evaluator can answer, if the range is much wider."""
    run = find_evaluator(metric.runs) if metric.runs and metric.source == "score" else None
    evaluator_range = run[0].value_range if run is not None else None
    return (
        f"its evaluator answers {evaluator_range[0]:g} to {evaluator_range[1]:g}"
        if evaluator_range and is_wide(metric, *evaluator_range)
        else None
    )


def _describe_earlier_range(version: DatasetVersion, metric: Metric) -> str | None:
    rows = Aggregate.objects.filter(
        account_id=version.account_id,
        config__account_id=version.account_id,
        config__experiment__plan__dataset_version__dataset_id=version.dataset_id,
        metric=metric.name,
        scope=Aggregate.Scope.ALL,
        n__gt=0,
    )
    summary = rows.aggregate(n=Sum("n"), lowest=Min("lowest"), highest=Max("highest"))
    if (summary["n"] or 0) < ENOUGH_SCORES or not is_wide(metric, summary["lowest"], summary["highest"]):
        return None
    return f"earlier scores of that name on this dataset lie between {summary['lowest']:g} and {summary['highest']:g}"
