"""What the page of an experiment shows: a row for each config, the leader first, with intervals as error bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.accounts.admin.base import short
from evalsvc.experiments.evidence import primary_metric
from evalsvc.experiments.live import live_view
from evalsvc.experiments.models import Config, ExperimentPlan

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
MINUS = "\N{MINUS SIGN}"


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
    """One metric of one config in words, and as a bar where it has an interval."""

    value: str
    interval: str
    safe: str
    note: str
    bar: Bar | None


@dataclass(frozen=True, slots=True)
class Row:
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
    outlook: str
    may_stop: bool
    may_resume: bool


@dataclass(frozen=True, slots=True)
class Board:
    """The whole board: the experiment's head, its metrics, its rows and what was decided."""

    head: Mapping[str, Any]
    variant: str
    metrics: Sequence[str]
    rows: Sequence[Row]
    decisions: Sequence[str]
    scale: Scale | None
    is_watched: bool
    """False when nothing will move any more by itself."""


def board_of(plan: ExperimentPlan) -> Board:
    """Read the live view and lay it out."""
    view = live_view(plan)
    primary = plan.primary_metric
    names = [primary, *(row["name"] for row in plan.metrics if row["name"] != primary)]
    scales = {name: scale_of([config["metrics"][name] for config in view["configs"]]) for name in names}
    titles = {config["id"]: config["name"] for config in view["configs"]}
    ordered = sorted(view["configs"], key=lambda config: rank_of(config, primary, is_best_high(plan), view["leader"]))
    colours = {config["id"]: COLOURS[i % len(COLOURS)] for i, config in enumerate(view["configs"])}
    return Board(
        head=view["experiment"],
        variant=VARIANTS.get(plan.state, "info"),
        metrics=names,
        rows=[
            _row(plan, config, names, scales, titles, colours[config["id"]], view["leader"] == config["id"])
            for config in ordered
        ],
        decisions=[words_of(decision) for decision in view["decisions"]],
        scale=scales[primary],
        is_watched=plan.state not in (ExperimentPlan.State.DONE, ExperimentPlan.State.FAILED),
    )


def is_best_high(plan: ExperimentPlan) -> bool:
    """Say whether a higher value of the primary metric is the better one."""
    return primary_metric(plan).higher_is_better


def rank_of(config: Mapping[str, Any], metric: str, high: bool, leader: str | None) -> tuple[Any, ...]:
    """Order configs: the leader, then the others in the race by their value, then those that are out of it."""
    value = config["metrics"][metric]["value"]
    behind = (-value if high else value) if value is not None else float("inf")
    return (config["id"] != leader, config["state"] not in IN_THE_RACE, behind, int(config["id"]))


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
) -> Row:
    seen = config["metrics"][plan.primary_metric]["seen_before_design"]
    versus, outlook = _versus(config["versus_leader"], titles)
    return Row(
        id=config["id"],
        name=config["name"],
        colour=colour,
        state=config["state"],
        variant=VARIANTS.get(config["state"], ""),
        reason=config["stop_reason"] or "",
        is_leader=is_leader,
        done=f"{config['n_done']} / {plan.n_examples}",
        n_error=config["n_error"],
        n_reused=config["n_reused"],
        cost=number(config["cost"]) if config["cost"] else "",
        parent=titles.get(config["parent_id"], "a deleted config") if config["parent_id"] else "",
        seen=seen_words(config["metrics"][plan.primary_metric], seen),
        cells=[_cell(config["metrics"][name], scales[name]) for name in names],
        versus=versus,
        outlook=outlook,
        may_stop=config["state"] in (State.QUEUED, State.RUNNING),
        may_resume=config["state"] in (State.STOPPED, State.FAILED) and plan.state != ExperimentPlan.State.DRAFT,
    )


def seen_words(view: Mapping[str, Any], seen: Mapping[str, Any] | None) -> str:
    """Say what a clone did on the examples that its designer may have seen, and whether there are others."""
    words = [f"{number(seen['value'])} on the {seen['n']} seen before its design"] if seen else []
    if "no_fresh_examples" in view["warnings"]:
        words.append("no fresh examples: it cannot be compared")
    return "; ".join(words)


def _cell(view: Mapping[str, Any], scale: Scale | None) -> Cell:
    has_ends = view["value"] is not None and view["lower"] is not None and view["upper"] is not None
    note = f"{view['method'] or 'no interval'}; {counted(view)}; about {view['covers']}"
    warnings = f"; {', '.join(view['warnings'])}" if view["warnings"] else ""
    return Cell(
        value=number(view["value"]),
        interval=interval(view["lower"], view["upper"]) if has_ends else "",
        safe=f"{view['safe']}, {view['level']:.4g}" if has_ends else "",
        note=note + warnings,
        bar=Bar(scale(view["lower"]), scale(view["value"]), scale(view["upper"])) if has_ends and scale else None,
    )


def counted(view: Mapping[str, Any]) -> str:
    """Say what became of the examples; the counts add up to all of them."""
    words = (("n_error", "failed"), ("n_na", "not applicable"), ("n_pending", "pending"))
    rest = [f"{view[name]} {word}" for name, word in words if view[name]]
    stopped = [view["stopped"]] if view["stopped"] else []
    return "; ".join([f"{view['n']} of {view['N']} scored", *rest, *stopped])


def _versus(found: Mapping[str, Any] | None, titles: Mapping[str, str]) -> tuple[str, str]:
    """Say how far a config is from the one it is compared with, and what it would take to be sure."""
    if found is None or found["delta"] is None:
        return "", ""
    words = f"{number(found['delta'], signed=True)} {interval(found['lower'], found['upper'], signed=True)}"
    other = short(titles.get(found["config_id"], "a deleted config"), 40)
    words += f" on {found['n']} pair{'' if found['n'] == 1 else 's'} with {other}"
    if not found["can_be_settled"]:
        return words, "more examples than there are would be needed to settle it"
    return words, f"about {found['about_n_more']} more would settle it" if found[
        "about_n_more"
    ] else "the interval leaves 0 out"


def words_of(decision: Mapping[str, Any]) -> str:
    """Write a decision with the evidence it rested on as one line."""
    evidence = ", ".join(f"{name} {_evidence(value)}" for name, value in decision["evidence"].items())
    against = f" against {decision['against']}" if decision["against"] else ""
    line = (
        f"{decision['created_at']:%H:%M:%S} {decision['config']} stopped{against} at {decision['watermark']} examples"
    )
    return f"{line}: {decision['reason']}{f' ({evidence})' if evidence else ''}; {decision['n_in_flight']} in flight"


def _evidence(value: Any) -> str:
    return number(value) if isinstance(value, int | float) else str(value)


def number(value: float | None, *, signed: bool = False) -> str:
    """Write a number for reading: three places of small ones, four digits of large ones."""
    if value is None:
        return "-"
    if isinstance(value, int) or (value == int(value) and abs(value) >= 10):
        text = f"{int(value):+d}" if signed else str(int(value))
    else:
        form = "+.3f" if signed else ".3f"
        text = format(value, form) if abs(value) < 10 else format(value, ".4g")
    return text.replace("-", MINUS, 1)


def interval(lower: float | None, upper: float | None, *, signed: bool = False) -> str:
    """Write an interval."""
    return f"[{number(lower, signed=signed)}, {number(upper, signed=signed)}]"
