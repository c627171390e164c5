"""Between the tables of monitors and `evalsvc.stats.monitors`: what is stored as JSON, and what is computed from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evalsvc.monitors.models import Monitor
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.formulas.clusters import Moments
from evalsvc.stats.monitors import (
    Baseline,
    ChangePoint,
    Direction,
    MonitorState,
    advance,
    limit_baseline,
    locate_change,
    measure_baseline,
    start_monitor,
    start_recovery,
)

ENGINE = "engine"
TAIL = 0.025


def measure(values: Sequence[float], value_range: tuple[float, float]) -> dict[str, Any]:
    """Return what is stored of a baseline of values of units; raises NotEnough.

    `lower` and `upper` are a 95 % confidence interval of the mean.
    """
    baseline = measure_baseline(values, value_range=value_range)
    moments = Moments(baseline.n_units, baseline.mean, baseline.variance)
    lower, upper = (moments.end(extreme, TAIL) for extreme in value_range)
    return {
        ENGINE: baseline.to_json(),
        "n_units": baseline.n,
        "mean": baseline.mean,
        "lower": max(value_range[0], lower),
        "upper": min(value_range[1], upper),
    }


def limit(value: float, value_range: tuple[float, float]) -> dict[str, Any]:
    """Return what is stored of a fixed limit in place of a baseline."""
    return {ENGINE: limit_baseline(value, value_range=value_range).to_json()}


def start(monitor: Monitor) -> dict[str, Any]:
    """Return the progress of a monitor that begins to look for a change."""
    direction: Direction = "rise" if monitor.direction == Monitor.Direction.RISE else "drop"
    return {ENGINE: start_monitor(_load(monitor), direction=direction, mean_run=monitor.mean_run).to_json()}


def advance_state(monitor: Monitor, values: Sequence[float]) -> int | None:
    """Feed values to a monitor's engine; return the index of the one that raises the alarm, or ends it."""
    baseline = _load(monitor)
    state, index = advance(baseline, MonitorState.from_json(monitor.progress[ENGINE]), _clip(baseline, values))
    monitor.progress = monitor.progress | {ENGINE: state.to_json()}
    return index


def get_evidence(monitor: Monitor) -> float:
    """Return the evidence for a change as a share of what raises the alarm; while there is one, for the recovery."""
    return MonitorState.from_json(monitor.progress[ENGINE]).evidence


def locate(monitor: Monitor, values: Sequence[float]) -> ChangePoint:
    """Return the change behind an alarm that the last of these values has raised."""
    baseline = _load(monitor)
    return locate_change(baseline, _clip(baseline, values), len(values) - 1)


def expect_recovery(monitor: Monitor, before: float, after: float) -> None:
    """Let an engine that has looked for a change look for the recovery from then on: from a mean back to another."""
    # Where the change was makes no difference.
    change = ChangePoint(0, 0, 0, before, after, 0)
    state = start_recovery(_load(monitor), MonitorState.from_json(monitor.progress[ENGINE]), change)
    monitor.progress = monitor.progress | {ENGINE: state.to_json()}


def _load(monitor: Monitor) -> Baseline:
    return Baseline.from_json(monitor.baseline[ENGINE])


def _clip(baseline: Baseline, values: Sequence[float]) -> FloatArray:
    # A score made elsewhere may come with another range than those before it.
    return np.clip(np.asarray(values, dtype=np.float64), baseline.low, baseline.high)
