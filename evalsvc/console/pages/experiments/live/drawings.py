"""The charts beside the board: the estimates at the ends of the shards, and several metrics at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.console.charts.plot import plot
from evalsvc.console.charts.scales import Axis
from evalsvc.console.charts.series import ChartLine, Mark, Point
from evalsvc.console.pages.experiments.live.board import LiveBoard, LiveRow
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.comparisons import is_pairable
from evalsvc.experiments.inference.pareto import MOST_METRICS, UNTOLD, pareto_view
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.reporting.live import looks_view
from evalsvc.experiments.reporting.words import level_text, number

# The board may come again every second, so what it weighs is bounded; the API weighs more.
MOST_SCORES_OF_A_BOARD = 50_000
FEWEST_CONFIGS = 2


def looks_chart(plan: ExperimentPlan, board: LiveBoard, configs: Sequence[Config]) -> SafeString | None:
    """Draw the metric of the board at the shard ends, the leader with its intervals; None before the first look."""
    looks = looks_view(plan, configs)
    found = {row.id: _points(plan, looks.get(row.id, ()), board.metric) for row in board.rows}
    if not any(found.values()):
        return None
    # The leader last, on top of the others.
    drawn = sorted((row for row in board.rows if found[row.id]), key=lambda row: row.is_leader)
    lines = [ChartLine(row.name, found[row.id], has_band=row.is_leader, style=row.style) for row in drawn]
    marks = [Mark(board.reference, "before the experiment", is_level=True)] if board.reference is not None else []
    return plot(
        f"{board.metric} at the ends of the shards",
        Axis("examples", low=0, high=plan.run_length),
        Axis(board.metric, limits=board.axis.placed.axis.limits),
        lines,
        marks=marks,
        says="Each point holds for one look."
        f" The band is the leader's interval for new data at {level_text(plan.level)}.",
    )


def _points(plan: ExperimentPlan, looks: Sequence[Mapping[str, Any]], metric: str) -> list[Point]:
    return [
        Point(plan.shard_ends[look["shard"] - 1], look["value"], look["lower"], look["upper"], f"n {look['n']}")
        for look in looks
        if look["metric"] == metric and look["value"] is not None
    ]


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


def front_of(plan: ExperimentPlan, board: LiveBoard, ever: Sequence[Config]) -> FrontTable | None:
    """Lay out the primary metric and the next two; None where there is nothing to trade, or too much to weigh."""
    names = _chosen(plan)
    n_scores = plan.n_examples * len(board.rows) * len(names)
    if len(names) < FEWEST_CONFIGS or len(board.rows) < FEWEST_CONFIGS or n_scores > MOST_SCORES_OF_A_BOARD:
        return None
    view = pareto_view(plan, names, ever)
    if not view["front"]:
        return None
    rows = {row.id: row for row in board.rows}
    found = sorted((one for one in view["configs"] if one["id"] in rows), key=lambda config: not config["on_front"])
    return FrontTable(
        metrics=[_title(metric) for metric in view["metrics"]],
        rows=[_row(config, names, rows[config["id"]]) for config in found],
        chart=_plane(found, view["metrics"][:2], rows),
        note=_note(view),
    )


def _plane(
    found: Sequence[Mapping[str, Any]], metrics: Sequence[Mapping[str, Any]], rows: Mapping[str, LiveRow]
) -> SafeString:
    lines, names, titles = [], [one["name"] for one in metrics], [_title(one) for one in metrics]
    for config in found:
        y, x = (config["values"][name]["value"] for name in names)
        if x is not None and y is not None:
            text = f"{names[1]} {number(x)}; {front_words(config)}"
            name = f"{config['name']}{', on the front' if config['on_front'] else ''}"
            lines.append(ChartLine(name, [Point(x, y, text=text)], is_joined=False, style=rows[config["id"]].style))
    title = f"{names[0]} against {names[1]}"
    return plot(title, Axis(names[1]), Axis(names[0]), lines, says=f"Up: {titles[0]}. To the right: {titles[1]}.")


def _note(view: Mapping[str, Any]) -> str:
    n = view["n_comparisons"]
    together = f"all {n} comparisons together" if n > 1 else "the comparison"
    words = f"About {view['covers']}, {view['safe']}, {together} at {level_text(view['level'])}."
    if all(config["is_dominated"] != UNTOLD for config in view["configs"]):
        return words
    return f"{words} No verdict: of a metric without a declared range nothing can be said while watched."


def _chosen(plan: ExperimentPlan) -> list[str]:
    fit = [row["name"] for row in plan.metrics if is_pairable(Metric.from_json(row))]
    return sorted(fit, key=lambda name: name != plan.primary_metric)[:MOST_METRICS]


def _title(metric: Mapping[str, Any]) -> str:
    return f"{metric['name']}, {'higher' if metric['higher_is_better'] else 'lower'} is better"


def _row(config: Mapping[str, Any], names: Sequence[str], row: LiveRow) -> FrontRow:
    values = [number(config["values"][name]["value"]) for name in names]
    return FrontRow(row.mark, config["name"], values, front_words(config))


def front_words(config: Mapping[str, Any]) -> str:
    """Say where a config stands, and how sure that is."""
    if config["on_front"]:
        return "on the front"
    if not config["dominated_by"]:
        return "not scored on all of them yet"
    first = config["dominated_by"][0]
    return f"beaten by {first['config']} on {first['n']} examples: {first['sure']}"
