"""Between the tables of monitors and `evalsvc.stats.monitors`: what is stored as JSON, and what is computed from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evalsvc.monitors.models import Monitor
from evalsvc.monitors.units import UnitValue
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
from evalsvc.stats.monitors.baselines import kish_number

ENGINE = "engine"
TAIL = 0.025


def measure(units: Sequence[UnitValue], value_range: tuple[float, float]) -> dict[str, Any]:
    """Return what is stored of a baseline of units; raises NotEnough.

    `lower` and `upper` are a 95 % confidence interval of the mean.
    """
    values, probabilities = [unit.value for unit in units], [unit.probability for unit in units]
    baseline = measure_baseline(values, value_range=value_range, probabilities=probabilities)
    # The weighted mean of equal values is another number by rounding.
    baseline = replace(baseline, mean=min(max(baseline.mean, min(values)), max(values)))
    moments = Moments(baseline.n_units, baseline.mean, baseline.variance)
    lower, upper = (moments.end(extreme, TAIL) for extreme in value_range)
    return {
        ENGINE: baseline.to_json(),
        "n_units": baseline.n,
        "mean": baseline.mean,
        "lower": max(value_range[0], lower),
        "upper": min(value_range[1], upper),
        "weighted": len(set(probabilities)) > 1,
        "n_eff": kish_number(np.array(probabilities)),
    }


def limit(value: float, value_range: tuple[float, float], lowest: float) -> dict[str, Any]:
    """Return what is stored of a fixed limit in place of a baseline, with the lowest probability until now."""
    return {ENGINE: replace(limit_baseline(value, value_range=value_range), lowest=lowest).to_json()}


def start(monitor: Monitor) -> dict[str, Any]:
    """Return the progress of a monitor with a new baseline, or limit, that begins to look for a change."""
    direction: Direction = "rise" if monitor.direction == Monitor.Direction.RISE else "drop"
    return {ENGINE: start_monitor(_load(monitor), direction=direction, mean_run=monitor.mean_run).to_json()}


def start_again(monitor: Monitor) -> dict[str, Any]:
    """Return the progress of a monitor that looks for a change again: what it knows of probabilities stays."""
    lowest = monitor.progress[ENGINE].get("lowest")
    fields = start(monitor)
    return {ENGINE: fields[ENGINE] | ({} if lowest is None else {"lowest": lowest})}


def advance_state(monitor: Monitor, units: Sequence[UnitValue]) -> int | None:
    """Feed units to a monitor's engine; return the index of the one that raises the alarm, or ends it."""
    baseline, state = _load(monitor), MonitorState.from_json(monitor.progress[ENGINE])
    state, index = advance(baseline, state, _clip(baseline, units), [unit.probability for unit in units])
    monitor.progress = monitor.progress | {ENGINE: state.to_json()}
    return index


def get_evidence(monitor: Monitor) -> float:
    """Return the evidence for a change as a share of what raises the alarm; while there is one, for the recovery."""
    return MonitorState.from_json(monitor.progress[ENGINE]).evidence


def locate(monitor: Monitor, units: Sequence[UnitValue]) -> ChangePoint:
    """Return the change behind an alarm that the last of these units has raised."""
    baseline = _load(monitor)
    probabilities = [unit.probability for unit in units]
    return locate_change(baseline, _clip(baseline, units), len(units) - 1, probabilities)


def expect_recovery(monitor: Monitor, before: float, after: float) -> None:
    """Let an engine that has looked for a change look for the recovery from then on: from a mean back to another."""
    # Where the change was makes no difference.
    change = ChangePoint(0, 0, 0, before, after, 0)
    state = start_recovery(_load(monitor), MonitorState.from_json(monitor.progress[ENGINE]), change)
    monitor.progress = monitor.progress | {ENGINE: state.to_json()}


def _load(monitor: Monitor) -> Baseline:
    return Baseline.from_json(monitor.baseline[ENGINE])


def _clip(baseline: Baseline, units: Sequence[UnitValue]) -> FloatArray:
    # A score made elsewhere may come with another range than those before it.
    return np.clip(np.array([unit.value for unit in units], dtype=np.float64), baseline.low, baseline.high)
