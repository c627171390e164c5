"""The charts next to the board: interim estimates at the ends of the shards, and several metrics at once."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.console.charts.plot import plot
from evalsvc.console.charts.scales import Axis
from evalsvc.console.charts.series import ChartLine, Mark, Point
from evalsvc.console.pages.experiments.live.board import LiveBoard, LiveRow
from evalsvc.digits import level_text
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.pairs.comparisons import is_pairable
from evalsvc.experiments.inference.pareto import MOST_METRICS, UNTOLD, pareto_view
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.reporting.live.looks import InterimResult, load_interim_results
from evalsvc.experiments.reporting.words import number

# The board may come again every second, so what it weighs is bounded; the API weighs more.
MOST_SCORES_OF_A_BOARD = 50_000
FEWEST_CONFIGS = 2
MOST_CHARTS = 32
"""That a process keeps."""


def looks_chart(plan: ExperimentPlan, board: LiveBoard, configs: Sequence[Config]) -> SafeString | None:
    """Draw the metric of the board at the shard ends, the leader with its intervals; None before the first look."""
    results = tuple(
        result
        for result in load_interim_results(plan, configs)
        if result.metric == board.metric and result.value is not None
    )
    if not results:
        return None
    config_ids = {str(result.config_id) for result in results}
    # In order of creation, whichever config leads at the moment; the leader last, on top of the others.
    rows = sorted((row for row in board.rows if row.id in config_ids), key=lambda row: (row.is_leader, int(row.id)))
    spec = _LooksChartSpec(
        board.metric,
        tuple((int(row.id), row.name, row.style, row.is_leader) for row in rows),
        tuple(plan.shard_ends),
        plan.run_length,
        plan.level,
        board.reference,
        board.axis.placed.axis.limits,
    )
    return _looks_chart(spec, results)


@dataclass(frozen=True, slots=True)
class _LooksChartSpec:
    """All that the chart of the looks is drawn from, besides the looks."""

    metric: str
    lines: tuple[tuple[int, str, int, bool], ...]
    """The id, name and style of each config, and whether it leads."""
    shard_ends: tuple[int, ...]
    run_length: int
    level: float
    reference: float | None
    limits: tuple[float, float] | None


# A board moves each second, and its looks at the ends of shards only: the chart is drawn when one of them has come.
@functools.lru_cache(MOST_CHARTS)
def _looks_chart(asked: _LooksChartSpec, looks: tuple[InterimResult, ...]) -> SafeString:
    points: dict[int, list[Point]] = {}
    for look in looks:
        point = Point(asked.shard_ends[look.shard - 1], look.value, look.lower, look.upper, f"n {look.n}")
        points.setdefault(look.config_id, []).append(point)
    at = asked.reference
    # One look at a file that was scored at once: a bar at the end, where a band would have no width.
    is_single = len(asked.shard_ends) == 1
    what = "Bars are intervals" if is_single else "Points are fixed-sample. The band is the leader's interval"
    return plot(
        f"{asked.metric} at the ends of the shards",
        Axis("examples", low=0, high=asked.run_length),
        Axis(asked.metric, limits=asked.limits),
        [
            ChartLine(name, points[id], has_band=leads and not is_single, style=style)
            for id, name, style, leads in asked.lines
        ],
        marks=[Mark(at, "the account's history before", is_level=True)] if at is not None else [],
        says=f"{what} for new data at {level_text(asked.level)}.",
    )


@dataclass(frozen=True, slots=True)
class FrontRow:
    """One config on all of the metrics, in words."""

    mark: SafeString
    name: str
    values: Sequence[str]
    standing: str


@dataclass(frozen=True, slots=True)
class FrontTable:
    """The plane of the first two metrics, and a table of all."""

    metrics: Sequence[str]
    rows: Sequence[FrontRow]
    chart: SafeString
    note: str


def build_front(plan: ExperimentPlan, board: LiveBoard, ever: Sequence[Config]) -> FrontTable | None:
    """Lay out the primary metric and the next two; None where there is nothing to trade, or too much to weigh."""
    names = _select_metrics(plan)
    n_scores = plan.n_examples * len(board.rows) * len(names)
    if len(names) < FEWEST_CONFIGS or len(board.rows) < FEWEST_CONFIGS or n_scores > MOST_SCORES_OF_A_BOARD:
        return None
    view = pareto_view(plan, names, ever)
    if not view["front"]:
        return None
    rows = {row.id: row for row in board.rows}
    configs = sorted(
        (config for config in view["configs"] if config["id"] in rows), key=lambda config: not config["on_front"]
    )
    return FrontTable(
        metrics=[_title(metric) for metric in view["metrics"]],
        rows=[_row(config, names, rows[config["id"]]) for config in configs],
        chart=_plane(plan, configs, view["metrics"], rows),
        note=_note(view),
    )


def _plane(
    plan: ExperimentPlan,
    found: Sequence[Mapping[str, Any]],
    metrics: Sequence[Mapping[str, Any]],
    rows: Mapping[str, LiveRow],
) -> SafeString:
    lines, names = [], [metric["name"] for metric in metrics]
    for config in found:
        row = rows[config["id"]]
        (lower, y, upper), (_, x, _) = row.cell(names[0]).point, row.cell(names[1]).point
        if x is not None and y is not None:
            text = f"{names[1]} {number(x)}; {front_words(config)}"
            name = f"{config['name']}{', on the front' if config['on_front'] else ''}"
            lines.append(ChartLine(name, [Point(x, y, lower, upper, text)], is_joined=False, style=row.style))
    right, up = _axis(plan, names[1]), _axis(plan, names[0])
    return plot(f"{names[0]} against {names[1]}", right, up, lines, says=_plane_words(metrics))


def _axis(plan: ExperimentPlan, name: str) -> Axis:
    """Return the axis of a metric, over its full range if it declares one, so that small differences look small."""
    row = next(row for row in plan.metrics if row["name"] == name)
    limits = Metric.from_json(row).value_range
    low, high = limits or (None, None)
    return Axis(name, low=low, high=high, limits=limits)


def _plane_words(metrics: Sequence[Mapping[str, Any]]) -> str:
    titles = [_title(metric) for metric in metrics]
    words = f"Up: {titles[0]}, with its interval. To the right: {titles[1]}."
    unseen = " and ".join(metric["name"] for metric in metrics[2:])
    return (
        f"{words} Not drawn: {unseen}, by which a config that lies behind here may be on the front."
        if unseen
        else words
    )


def _note(view: Mapping[str, Any]) -> str:
    n = view["n_comparisons"]
    together = f"all {n} comparisons together" if n > 1 else "the comparison"
    words = f"About {view['covers']}, {view['safe']}, {together} at {level_text(view['level'])}."
    if all(config["is_dominated"] != UNTOLD for config in view["configs"]):
        return words
    return f"{words} No verdict: a metric without a declared range has no anytime-valid interval."


def _select_metrics(plan: ExperimentPlan) -> list[str]:
    fit = [row["name"] for row in plan.metrics if is_pairable(Metric.from_json(row))]
    return sorted(fit, key=lambda name: name != plan.primary_metric)[:MOST_METRICS]


def _title(metric: Mapping[str, Any]) -> str:
    return f"{metric['name']}, {'higher' if metric['higher_is_better'] else 'lower'} is better"


def _row(config: Mapping[str, Any], names: Sequence[str], row: LiveRow) -> FrontRow:
    cells = [row.cell(name) for name in names]
    values = [f"{cell.value} {cell.interval}".strip() for cell in cells]
    return FrontRow(row.mark, config["name"], values, front_words(config))


def front_words(config: Mapping[str, Any]) -> str:
    """Return the position of a config relative to the front, with the confidence in it."""
    if config["on_front"]:
        return "on the front"
    if not config["dominated_by"]:
        return "not all examples scored yet"
    first = config["dominated_by"][0]
    return f"beaten by {first['config']} on {first['n']} examples: {first['sure']}"
