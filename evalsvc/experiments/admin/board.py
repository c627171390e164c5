"""What the page of an experiment shows: a row for each config, the leader first, with intervals as error bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.experiments.inference.evidence import primary_metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.reporting.live import live_view
from evalsvc.experiments.reporting.references import references_of
from evalsvc.experiments.reporting.words import (
    covers_words,
    describe_decision,
    headline,
    interval,
    leads,
    metric_words,
    note_words,
    number,
    quantile_words,
    seen_words,
    set_words,
    versus_words,
)

State = Config.State
IN_THE_RACE = (State.RUNNING, State.COMPLETED)
VARIANTS = {
    State.RUNNING: "info",
    State.COMPLETED: "success",
    State.STOPPED: "warning",
    State.FAILED: "danger",
    "done": "success",
    "idle": "warning",
}
# Told apart on white and on black.
COLOURS = ("#2563eb", "#ea580c", "#16a34a", "#9333ea", "#dc2626", "#0891b2", "#ca8a04", "#db2777", "#65a30d", "#64748b")


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis: numbers from `low` to `high` onto 0 to 100."""

    low: float
    high: float

    def __call__(self, value: float) -> str:
        """Return the place of a number, cut to the axis."""
        width = self.high - self.low
        share = (value - self.low) / width if width > 0 else 0.5
        return f"{100 * min(1.0, max(0.0, share)):.2f}"


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval to draw: its ends and its middle on the axis."""

    lower: str
    value: str
    upper: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One metric of one config in words, and as a bar where it has an interval: new data first, then this set."""

    value: str
    interval: str
    covers: str
    this_set: str
    quantiles: Sequence[str]
    """p50, p95 and p99 of what is measured, with intervals for new data."""
    note: str
    bar: Bar | None


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One config on the board."""

    id: str
    name: str
    colour: str
    state: str
    variant: str
    reason: str
    is_leader: bool
    done: str
    n_error: int
    n_reused: int
    cost: str
    parent: str
    seen: str
    cells: Sequence[Cell]
    versus: str
    asides: Sequence[str]
    may_stop: bool
    may_resume: bool


@dataclass(frozen=True, slots=True)
class Board:
    """The whole board: the experiment's head, its metrics, its rows and what was decided."""

    leads: str
    head: Mapping[str, Any]
    variant: str
    metrics: Sequence[tuple[str, str]]
    """Each with what it was before the experiment, and that it was added later, in words."""
    before: float | None
    """The primary metric before the experiment."""
    rows: Sequence[BoardRow]
    decisions: Sequence[str]
    scale: Scale | None
    is_watched: bool
    """False when nothing will move any more by itself."""


def board_of(plan: ExperimentPlan) -> Board:
    """Read the live view and lay it out."""
    view, references = live_view(plan), references_of(plan)
    primary = plan.primary_metric
    metrics = {row["name"]: row for row in plan.metrics}
    names = [primary, *(name for name in metrics if name != primary)]
    scales = {name: scale_of([headline(config["metrics"][name]) for config in view["configs"]]) for name in names}
    titles = {config["id"]: config["name"] for config in view["configs"]}
    ordered = sorted(view["configs"], key=lambda config: rank_of(config, primary, is_best_high(plan), view["leader"]))
    colours = {config["id"]: COLOURS[i % len(COLOURS)] for i, config in enumerate(view["configs"])}
    return Board(
        leads=leads(view["leader_settled"]),
        head=view["experiment"],
        variant=VARIANTS.get(plan.state, "info"),
        metrics=[(name, metric_words(metrics[name], references.get(name))) for name in names],
        before=(references.get(primary) or {}).get("value"),
        rows=[
            _row(plan, config, names, scales, titles, colours[config["id"]], view["leader"] == config["id"])
            for config in ordered
        ],
        decisions=[describe_decision(decision) for decision in view["decisions"]],
        scale=scales[primary],
        is_watched=plan.state not in (ExperimentPlan.State.DONE, ExperimentPlan.State.FAILED),
    )


def is_best_high(plan: ExperimentPlan) -> bool:
    """Say whether a higher value of the primary metric is the better one."""
    return primary_metric(plan).higher_is_better


def is_in_race(config: Mapping[str, object]) -> bool:
    """Say whether a config stands for itself against the others; one that has won, or waits, does too."""
    return config["state"] in IN_THE_RACE or config["stop_reason"] in ("decided", "pause")


def rank_of(config: Mapping[str, Any], metric: str, high: bool, leader: str | None) -> tuple[Any, ...]:
    """Order configs: the leader, then the others in the race by their value, then those that are out of it."""
    value = headline(config["metrics"][metric])["value"]
    behind = (-value if high else value) if value is not None else float("inf")
    return (config["id"] != leader, not is_in_race(config), behind, int(config["id"]))


def scale_of(views: Sequence[Mapping[str, Any]]) -> Scale | None:
    """Return an axis that holds every interval of a metric; None while there is none."""
    ends = [view[name] for view in views for name in ("lower", "value", "upper") if view[name] is not None]
    return Scale(min(ends), max(ends)) if ends else None


def _row(
    plan: ExperimentPlan,
    config: Mapping[str, Any],
    names: Sequence[str],
    scales: Mapping[str, Scale | None],
    titles: Mapping[str, str],
    colour: str,
    is_leader: bool,
) -> BoardRow:
    seen = config["metrics"][plan.primary_metric]["seen_before_design"]
    versus, asides = versus_words(config["versus_leader"], titles)
    return BoardRow(
        id=config["id"],
        name=config["name"],
        colour=colour,
        state=config["state"],
        variant=VARIANTS.get(config["state"], ""),
        reason=config["stop_reason"] or "",
        is_leader=is_leader,
        done=f"{config['n_done']} / {plan.run_length}",
        n_error=config["n_error"],
        n_reused=config["n_reused"],
        cost=number(config["cost"]) if config["cost"] else "",
        parent=titles.get(config["parent_id"], "a deleted config") if config["parent_id"] else "",
        seen=seen_words(config["metrics"][plan.primary_metric], seen),
        cells=[_cell(config["metrics"][name], scales[name]) for name in names],
        versus=versus,
        asides=asides,
        may_stop=config["state"] in (State.QUEUED, State.RUNNING),
        may_resume=config["state"] in (State.STOPPED, State.FAILED) and plan.state != ExperimentPlan.State.DRAFT,
    )


def _cell(view: Mapping[str, Any], scale: Scale | None) -> Cell:
    shown = headline(view)
    lower, value, upper = shown["lower"], shown["value"], shown["upper"]
    has_ends = None not in (lower, value, upper)
    return Cell(
        value=number(value),
        interval=interval(lower, upper) if has_ends else "",
        covers=covers_words(view) if has_ends else "",
        this_set=set_words(view),
        quantiles=quantile_words(view),
        note=note_words(view, shown),
        bar=Bar(scale(lower), scale(value), scale(upper)) if has_ends and scale else None,
    )
