"""Freeze the baseline of a monitor: which scores, which unit, and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalsvc.monitors import engine
from evalsvc.monitors.evidence import dump_slices, measure_slices
from evalsvc.monitors.models import Monitor
from evalsvc.monitors.scores import Position, ScoreRow, get_start, read_baseline, read_measures
from evalsvc.monitors.units import MIXED, UnitBuffer, UnitValue, note_draws
from evalsvc.monitors.volume import start_counts
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.stats.formulas.clusters import number_clusters
from evalsvc.stats.monitors.baselines import LEAST_UNITS, NotEnough, cluster_design_effect, upper_quantile
from evalsvc.stats.monitors.dependence import INDEPENDENT

AUTO = "auto"
QUANTILE, LEVEL = "quantile", 0.95
"""Stored with a baseline whose own quantile says which evaluations are slow, have many tokens, or are expensive."""
EXCEEDANCES = (Monitor.Estimand.LATENCY, Monitor.Estimand.TOKENS, Monitor.Estimand.COST)


@dataclass(frozen=True, slots=True)
class FrozenBaseline:
    """A baseline, the unit that it chose, and the position behind it: where a monitor begins to read."""

    unit: str
    numbers: dict[str, Any]
    start: Position

    def apply(self, monitor: Monitor) -> None:
        """Set the fields of a monitor that follow from its baseline, and start its engine."""
        monitor.unit, monitor.baseline = self.unit, self.numbers
        monitor.mark_xact = monitor.run_xact = self.start.xact
        monitor.mark_id = monitor.run_id = self.start.id
        monitor.n_scores = monitor.n_units = monitor.n_undecided = 0
        monitor.progress = start_counts(monitor, self.start) if monitor.is_of_volume else engine.start(monitor)


def freeze_baseline(monitor: Monitor, unit: str, value_range: tuple[float, float]) -> FrozenBaseline:
    """Return the baseline of the newest scores of a monitor's history, or of its limit.

    `unit` is that of the monitor, or `auto`: the session where the monitor names one, else the sample, unless the
    design effect of the scores is at most 1.1. Raises Invalid where the scores are too few. A limit needs none: with
    too few to measure the design effect, the unit is the session or the sample.
    """
    start = get_start(monitor)
    if monitor.is_of_volume:
        return FrozenBaseline(str(Monitor.Unit.SCORE), {"slices": []}, start)
    is_chosen = monitor.estimand in EXCEEDANCES and (monitor.above is None or QUANTILE in (monitor.baseline or {}))
    if is_chosen:
        monitor.above = _choose_above(read_measures(monitor, start))
    rows = [row for row in read_baseline(monitor, start) if row.value is not None]
    _check_values(monitor, rows, value_range)
    grouped = Monitor.Unit.SESSION if monitor.cluster_by is not None else Monitor.Unit.SAMPLE
    effect = _measure_effect(monitor, rows, grouped)
    if unit == AUTO:
        is_measured = monitor.limit is None or len(_list_units(rows, grouped)) >= LEAST_UNITS
        unit = Monitor.Unit.SCORE if is_measured and effect <= INDEPENDENT else grouped
    slices = dump_slices(measure_slices(monitor, rows))
    units = _list_units(rows, unit)
    kept = {"slices": slices, MIXED: False} | note_draws(units)
    if monitor.limit is not None:
        lowest = min((item.probability for item in units), default=1.0)
        return FrozenBaseline(str(unit), _measure_limit(monitor.limit, value_range, lowest) | kept, start)
    try:
        numbers = engine.measure(units, value_range)
    except NotEnough as exc:
        raise Invalid(FieldError("/baseline_scores", _describe_missing(len(rows), len(units), unit, exc))) from None
    numbers |= kept | {
        "n_scores": len(rows),
        "unit": str(unit),
        "design_effect": effect,
        "first_score_id": str(rows[0].id),
        "last_score_id": str(rows[-1].id),
    }
    if is_chosen:
        numbers[QUANTILE] = LEVEL
    return FrozenBaseline(str(unit), numbers, start)


def _choose_above(measures: Sequence[tuple[float, float]]) -> float:
    """Return the 95 % quantile of a baseline: the smallest value that at most a twentieth of it exceeds."""
    if not measures:
        return 0.0
    numbers, probabilities = zip(*measures, strict=True)
    return upper_quantile(numbers, LEVEL, probabilities)


def _measure_limit(limit: float, value_range: tuple[float, float], lowest: float) -> dict[str, Any]:
    low, high = value_range
    if not low < limit < high:
        raise Invalid(FieldError("/limit", f"The limit must lie between {low:g} and {high:g}, and be neither."))
    return engine.limit(limit, value_range, lowest)


def _list_units(rows: Sequence[ScoreRow], unit: str) -> list[UnitValue]:
    buffer = UnitBuffer(unit)
    return [*buffer.add(rows), *(buffer.finish(rows[-1]) if rows else ())]


def _measure_effect(monitor: Monitor, rows: Sequence[ScoreRow], unit: str) -> float:
    """Return the design effect of the units of scores; 1 where no two scores share one."""
    buffer = UnitBuffer(unit)
    values = [row.value for row in rows]
    keys = [buffer.get_key(row) or f"score {row.id}" for row in rows]
    if len(set(keys)) == len(keys):
        return 1.0
    return cluster_design_effect(np.array(values, dtype=np.float64), number_clusters(keys))


def _check_values(monitor: Monitor, rows: Sequence[ScoreRow], value_range: tuple[float, float]) -> None:
    low, high = value_range
    if any(row.value is not None and not low <= row.value <= high for row in rows):
        raise Invalid(FieldError("/estimand", f"Some scores lie outside their range, {low:g} to {high:g}."))


def _describe_missing(n_scores: int, n_values: int, unit: str, missing: NotEnough) -> str:
    has = f"the history has {n_scores} scores" + ("" if unit == Monitor.Unit.SCORE else f" in {n_values} {unit}s")
    if missing.n_units < n_values:
        # They resemble their neighbours, or rules drew them with unequal probabilities.
        has += f", worth {missing.n_units} independent ones"
    return f"A baseline needs at least {LEAST_UNITS} independent {unit}s; {has}. {missing.missing} more are needed."
