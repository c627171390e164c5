"""Several metrics at once on the board: who is on the Pareto front, by whom the others are beaten, and how surely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.experiments.admin.board import Board, Scale
from evalsvc.experiments.admin.chart import HEIGHT, WIDTH, across, up
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.comparisons import is_pairable
from evalsvc.experiments.inference.pareto import MOST_METRICS, UNTOLD, pareto_view
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.reporting.words import number

# The board may come again every second, so what it weighs is bounded; the API weighs more.
MOST_SCORES_OF_A_BOARD = 50_000
FEWEST_CONFIGS = 2


@dataclass(frozen=True, slots=True)
class Dot:
    """One config in the plane of the first two metrics."""

    name: str
    colour: str
    x: str
    y: str
    radius: str
    is_on_front: bool


@dataclass(frozen=True, slots=True)
class TradeoffRow:
    """One config in words."""

    name: str
    colour: str
    values: Sequence[str]
    standing: str


@dataclass(frozen=True, slots=True)
class TradeOff:
    """The table, and everything of the drawing in its own units."""

    metrics: Sequence[str]
    rows: Sequence[TradeoffRow]
    dots: Sequence[Dot]
    x_ticks: Sequence[tuple[str, str]]
    y_ticks: Sequence[tuple[str, str]]
    width: int
    height: int
    note: str


def tradeoff_of(plan: ExperimentPlan, board: Board) -> TradeOff | None:
    """Lay out the primary metric and the next two; None where there is nothing to trade, or too much to weigh."""
    names = _chosen(plan)
    n_scores = plan.n_examples * len(board.rows) * len(names)
    if len(names) < FEWEST_CONFIGS or len(board.rows) < FEWEST_CONFIGS or n_scores > MOST_SCORES_OF_A_BOARD:
        return None
    view = pareto_view(plan, names)
    if not view["front"]:
        return None
    colours = {row.id: row.colour for row in board.rows}
    found = sorted(view["configs"], key=lambda config: not config["on_front"])
    drawn = [one for one in found if all(one["values"][name]["value"] is not None for name in names)]
    x, y = (_scale(drawn, name) for name in (names[1], names[0]))
    return TradeOff(
        metrics=[_title(metric) for metric in view["metrics"]],
        rows=[_row(config, names, colours) for config in found],
        dots=[_dot(config, names, colours, x, y) for config in drawn],
        x_ticks=[(across(x)(value), number(value)) for value in dict.fromkeys((x.low, x.high))],
        y_ticks=[(up(y)(value), number(value)) for value in dict.fromkeys((y.low, y.high))],
        width=WIDTH,
        height=HEIGHT,
        note=_note(view),
    )


def _note(view: Mapping[str, Any]) -> str:
    n = view["n_comparisons"]
    together = f"all {n} comparisons together" if n > 1 else "the comparison"
    words = f"About {view['covers']}, {view['safe']}, {together} at {view['level']:.4g}."
    if all(config["is_dominated"] != UNTOLD for config in view["configs"]):
        return words
    return f"{words} No verdict: of a metric without a declared range nothing can be said while watched."


def _chosen(plan: ExperimentPlan) -> list[str]:
    fit = [row["name"] for row in plan.metrics if is_pairable(Metric.from_json(row))]
    return sorted(fit, key=lambda name: name != plan.primary_metric)[:MOST_METRICS]


def _title(metric: Mapping[str, Any]) -> str:
    return f"{metric['name']}, {'higher' if metric['higher_is_better'] else 'lower'} is better"


def _scale(configs: Sequence[Mapping[str, Any]], name: str) -> Scale:
    values = [config["values"][name]["value"] for config in configs]
    return Scale(min(values), max(values))


def _row(config: Mapping[str, Any], names: Sequence[str], colours: Mapping[str, str]) -> TradeoffRow:
    values = [number(config["values"][name]["value"]) for name in names]
    return TradeoffRow(config["name"], colours.get(config["id"], ""), values, standing_of(config))


def standing_of(config: Mapping[str, Any]) -> str:
    """Say where a config stands, and how sure that is."""
    if config["on_front"]:
        return "on the front"
    if not config["dominated_by"]:
        return "not scored on all of them yet"
    first = config["dominated_by"][0]
    return f"beaten by {first['config']} on {first['n']} examples: {first['sure']}"


def _dot(config: Mapping[str, Any], names: Sequence[str], colours: Mapping[str, str], x: Scale, y: Scale) -> Dot:
    return Dot(
        name=f"{config['name']}: {standing_of(config)}",
        colour=colours.get(config["id"], "currentColor"),
        x=across(x)(config["values"][names[1]]["value"]),
        y=up(y)(config["values"][names[0]]["value"]),
        radius="6" if config["on_front"] else "4",
        is_on_front=config["on_front"],
    )
