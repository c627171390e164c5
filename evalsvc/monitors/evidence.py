"""What an alarm tells beside its time: which slices moved, and examples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from evalsvc.monitors.models import Monitor
from evalsvc.monitors.scores import ScoreRow, read_tags

SlicePair = tuple[str, str]
APP = "app"
MOST_SLICES, MOST_STORED, MOST_EXAMPLES = 5, 200, 5
LEAST_BEFORE, LEAST_AFTER = 10, 5
"""Scores of a slice in the baseline, and after the change: of fewer, a mean says nothing."""


def measure_slices(monitor: Monitor, rows: Sequence[ScoreRow]) -> dict[SlicePair, tuple[int, float]]:
    """Return count and mean of the scores of each app and of each tag, each score weighed by its probability."""
    tags = read_tags(monitor.account_id, [row.source_id for row in rows])
    values: dict[SlicePair, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if row.value is not None:
            for pair in _list_slices(row, tags.get(row.source_id, {}), monitor.cluster_by):
                values[pair].append((row.value, 1.0 / row.probability))
    return {pair: (len(group), _compute_mean(group)) for pair, group in values.items()}


def _compute_mean(weighed: Iterable[tuple[float, float]]) -> float:
    pairs = list(weighed)
    return sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs)


def dump_slices(slices: Mapping[SlicePair, tuple[int, float]]) -> list[list[Any]]:
    """Return the slices that are stored with a baseline: the largest of those that are large enough."""
    large = sorted((-n, pair, mean) for pair, (n, mean) in slices.items() if n >= LEAST_BEFORE)
    return [[*pair, -n, mean] for n, pair, mean in large[:MOST_STORED]]


def compare_slices(monitor: Monitor, rows: Sequence[ScoreRow]) -> list[dict[str, Any]]:
    """Return the slices that moved most in the monitor's direction, by what they add to the change of the mean."""
    sign = -1.0 if monitor.direction == Monitor.Direction.DROP else 1.0
    before = {(by, value): (n, mean) for by, value, n, mean in monitor.baseline["slices"]}
    moved = []
    for pair, (n, after) in measure_slices(monitor, rows).items():
        n_baseline, mean = before.get(pair, (0, 0.0))
        if n >= LEAST_AFTER and n_baseline and sign * (after - mean) > 0.0:
            numbers = {"n": n, "n_baseline": n_baseline, "before": mean, "after": after}
            moved.append((-n * abs(after - mean), pair, numbers))
    return [{"by": by, "value": value, **numbers} for _, (by, value), numbers in sorted(moved)[:MOST_SLICES]]


def select_examples(monitor: Monitor, rows: Iterable[ScoreRow]) -> list[str]:
    """Return the ids of evaluations that are worst in the monitor's direction, the newest first among equals."""
    sign = 1.0 if monitor.direction == Monitor.Direction.DROP else -1.0
    valued = [(sign * row.value, -row.id, row) for row in rows if row.value is not None]
    return [str(row.source_id) for _, _, row in sorted(valued)[:MOST_EXAMPLES]]


def write_moment(moment: datetime) -> str:
    """Return a moment as evidence has it: in ISO 8601, of UTC."""
    return moment.isoformat().replace("+00:00", "Z")


def _list_slices(row: ScoreRow, tags: Mapping[str, str], cluster_by: str | None) -> list[SlicePair]:
    pairs = [] if row.app is None else [(APP, row.app)]
    # The tag of the session has a value for each: it is no slice.
    return pairs + [(f"tags.{key}", value) for key, value in tags.items() if key != cluster_by]
