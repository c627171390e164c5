"""What the board of an experiment shows: a row for each config, with its interval on an axis that all share."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.console.charts.series import MAX_SERIES, sample
from evalsvc.console.pages.experiments.live.strips import Strip, draw_strip, strip_axis
from evalsvc.console.pages.experiments.words import ENDED
from evalsvc.console.parts.money import format_cost
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.models import Config, ExperimentPlan
from evalsvc.experiments.reporting.conclusion import Conclusion, conclude_view
from evalsvc.experiments.reporting.live.view import live_view
from evalsvc.experiments.reporting.references import load_references, reference_line
from evalsvc.experiments.reporting.words import (
    describe_leader,
    format_comparison,
    format_coverage,
    format_estimate,
    format_interval_note,
    format_metric_note,
    format_quantiles,
    format_seen_examples,
    format_this_set,
    headline,
    level_names,
    number,
)
from evalsvc.judges.calls.endings import describe_endings
from evalsvc.reports.words import confirmation_sentence
from evalsvc.stats.estimates.flakiness import FLAKY, VERDICTS

State = Config.State
IN_THE_RACE = (State.RUNNING, State.COMPLETED)
REASONS = {
    "user": "by a person",
    "policy": "by the policy",
    "budget": "the budget is spent",
    "error": "it kept failing",
    "decided": "it has won",
    "pause": "paused at the end of a shard",
}


@dataclass(frozen=True, slots=True)
class MetricCell:
    """One metric of one config in words: new data first, then this set."""

    name: str
    value: str
    interval: str
    covers: str
    this_set: str
    quantiles: Sequence[str]
    note: str
    point: tuple[float | None, float | None, float | None]
    """The value between the ends of its interval, to draw."""


@dataclass(frozen=True, slots=True)
class LiveRow:
    """One config on the board."""

    id: str
    name: str
    style: int
    mark: SafeString
    state: str
    reason: str
    is_leader: bool
    is_ahead: bool
    """Whether it leads, or is level with who does."""
    n_done: int
    n_to_do: int
    n_error: int
    endings: str
    n_reused: int
    cost: str
    parent: str
    seen: str
    strip: SafeString | None
    shown: MetricCell
    counted: str
    """What the shown value rests on, where it is not all that was answered."""
    others: Sequence[MetricCell]
    word: str
    versus: str
    asides: Sequence[str]
    against: str | None
    may_stop: bool
    may_resume: bool

    def cell(self, metric: str) -> MetricCell:
        """Return what is known of one of the metrics."""
        return next(cell for cell in (self.shown, *self.others) if cell.name == metric)


@dataclass(frozen=True, slots=True)
class TrialsRow:
    """What the trials of a config's tests show, by the board's metric."""

    name: str
    mark: SafeString
    curve: Sequence[tuple[str, str, str]]
    """For each k its name, the value and the interval."""
    counts: str
    flaky: Sequence[str]
    n_flaky: int


@dataclass(frozen=True, slots=True)
class TurnsRow:
    """The shares over turns of a config, by the board's metric: each with its value and its interval."""

    name: str
    mark: SafeString
    shares: Sequence[tuple[str, str]]
    counts: str


@dataclass(frozen=True, slots=True)
class LiveBoard:
    """The complete board: the experiment's head, its rows and decisions, and the reference for its metric."""

    conclusion: Conclusion
    leads: str
    is_settled: bool
    """Whether the leader is better than every other on evidence; only then it is green."""
    head: Mapping[str, Any]
    metric: str
    metric_note: str
    difference_note: str
    metrics: Sequence[str]
    rows: Sequence[LiveRow]
    trials: Sequence[TrialsRow]
    turns: Sequence[TurnsRow]
    axis: Strip
    reference: float | None
    decisions: Sequence[Mapping[str, Any]]
    confirmation: str
    waiting: Sequence[tuple[str, str]]
    """The configs with scores that wait for their judge's endpoint, each with what it has answered."""
    is_watched: bool
    n_to_do: int
    n_done: int

    @property
    def leader(self) -> str:
        """The name of the config that leads, or of all that are level; nothing while none does."""
        names = [row.name for row in sorted(self.rows, key=lambda row: int(row.id)) if row.is_ahead]
        return level_names(names) if names else ""

    @property
    def n_in_race(self) -> int:
        """How many configs run, wait to, or are completed: of these one can lead."""
        return sum(row.state in (State.QUEUED, *IN_THE_RACE) for row in self.rows)

    @property
    def may_stop(self) -> bool:
        """Whether there is a config that can be stopped."""
        return any(row.may_stop for row in self.rows)

    @property
    def may_resume(self) -> bool:
        """Whether there is a config that can go on."""
        return any(row.may_resume for row in self.rows)


def build_live_board(
    plan: ExperimentPlan, ever: Sequence[Config], *, metric: str | None = None, sort: str = ""
) -> LiveBoard:
    """Build the board by a metric, by default the primary one."""
    view, references = live_view(plan, ever), load_references(plan)
    metrics = {row["name"]: row for row in plan.metrics}
    board_metric: str = metric if metric is not None and metric in metrics else plan.primary_metric
    reference = reference_line(references.get(board_metric))
    limits = Metric.from_json(metrics[board_metric]).value_range
    axis = strip_axis([headline(config["metrics"][board_metric]) for config in view["configs"]], limits)
    names = {config["id"]: config["name"] for config in view["configs"]}
    ahead = view["tied"] or [view["leader"]]
    rows = [
        _row(plan, config, i, board_metric, axis, names, view["leader"], ahead)
        for i, config in enumerate(view["configs"])
    ]
    order, by_primary = compute_board_order(plan, view, board_metric, sort), f" by {plan.primary_metric}"
    return LiveBoard(
        conclusion=conclude_view(view),
        leads=describe_leader(view["leader_settled"], plan.state, is_level=len(ahead) > 1)
        + ("" if board_metric == plan.primary_metric else by_primary),
        is_settled=view["leader_settled"] is True,
        head=view["experiment"],
        metric=board_metric,
        metric_note=format_metric_note(metrics[board_metric], references.get(board_metric)),
        difference_note=describe_difference(plan, metrics[plan.primary_metric]),
        metrics=[plan.primary_metric, *(name for name in metrics if name != plan.primary_metric)],
        rows=sorted(rows, key=lambda row: order[row.id]),
        trials=[row for i, config in enumerate(view["configs"]) for row in _list_trials(config, i, board_metric)],
        turns=[row for i, config in enumerate(view["configs"]) for row in _list_turns(config, i, board_metric)],
        axis=axis,
        reference=reference,
        decisions=view["decisions"],
        confirmation=confirmation_sentence(view["confirmation"]) if view["confirmation"] else "",
        waiting=[(config["name"], config["waiting"]["message"]) for config in view["configs"] if config["waiting"]],
        is_watched=plan.state not in ENDED,
        n_to_do=sum(row.n_to_do for row in rows),
        n_done=sum(row.n_done for row in rows),
    )


def describe_difference(plan: ExperimentPlan, primary: Mapping[str, Any]) -> str:
    """Return what differences are of, whatever metric the board shows, from whom, and which way is the better one."""
    note = "" if primary["higher_is_better"] else "; above 0 is better, though lower values are"
    return f"in {plan.primary_metric}, from {plan.baseline or 'the leader'}{note}"


SORTS = {
    "": "the leader first",
    "name": "by name",
    "arrival": "as they came",
    "state": "by state",
    "done": "by how far they are",
    "cost": "by cost",
}


def compute_board_order(plan: ExperimentPlan, view: Mapping[str, Any], metric: str, sort: str) -> dict[str, Any]:
    """Return what the configs are sorted by, by their ids."""
    high = next(row["higher_is_better"] for row in plan.metrics if row["name"] == metric)
    keys: dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "name": lambda config: (config["name"], int(config["id"])),
        "arrival": lambda config: int(config["id"]),
        "state": lambda config: (config["state"], config["name"]),
        "done": lambda config: (-config["n_done"], config["name"]),
        "cost": lambda config: (-config["cost"], config["name"]),
    }

    def leader_first(config: Mapping[str, Any]) -> Any:
        return get_sort_key(config, metric, high, view["leader"])

    key = keys.get(sort, leader_first)
    return {config["id"]: key(config) for config in view["configs"]}


def is_racing(config: Mapping[str, object]) -> bool:
    """Return whether a config takes part in the race. Configs that have won or are paused do too."""
    return config["state"] in IN_THE_RACE or config["stop_reason"] in ("decided", "pause")


def get_sort_key(config: Mapping[str, Any], metric: str, high: bool, leader: str | None) -> tuple[Any, ...]:
    """Order configs: the leader, then the others in the race by their value, then those that are out of it."""
    value = headline(config["metrics"][metric])["value"]
    behind = (-value if high else value) if value is not None else float("inf")
    return (config["id"] != leader, not is_racing(config), behind, int(config["id"]))


def _row(
    plan: ExperimentPlan,
    config: Mapping[str, Any],
    place: int,
    metric: str,
    axis: Strip,
    names: Mapping[str, str],
    leader: str | None,
    ahead: Container[str],
) -> LiveRow:
    estimate = config["metrics"][metric]
    style = place % MAX_SERIES
    versus, asides = format_comparison(config["versus_leader"], names)
    return LiveRow(
        id=config["id"],
        name=config["name"],
        style=style,
        mark=sample(style),
        state=config["state"],
        reason=REASONS.get(config["stop_reason"] or "", ""),
        is_leader=config["id"] == leader,
        is_ahead=config["id"] in ahead,
        n_done=config["n_done"],
        n_to_do=plan.order_length if config["n_done"] > plan.run_length else plan.run_length,
        n_error=config["n_error"],
        endings=describe_endings(config["endings"]),
        n_reused=config["n_reused"],
        cost=format_cost(config["cost"]) if config["cost"] else "",
        parent=names.get(config["parent_id"], "a deleted config") if config["parent_id"] else "",
        seen=format_seen_examples(estimate, estimate["seen_before_design"]),
        strip=draw_strip(axis, headline(estimate), style, config["name"]),
        shown=build_cell(metric, estimate),
        counted=f"n {estimate['n']}" if estimate["n"] not in (0, config["n_done"]) else "",
        others=[build_cell(name, metric_view) for name, metric_view in config["metrics"].items() if name != metric],
        word=short_words(config["versus_leader"]),
        versus=versus,
        asides=asides,
        against=(config["versus_leader"] or {}).get("config_id"),
        may_stop=config["state"] in (State.QUEUED, State.RUNNING) or config["stop_reason"] == "pause",
        may_resume=config["state"] in (State.STOPPED, State.FAILED) and plan.state != ExperimentPlan.State.DRAFT,
    )


def _list_trials(config: Mapping[str, Any], place: int, metric: str) -> list[TrialsRow]:
    """Return the row of a config whose metric counts samples as trials; nothing for other metrics."""
    trials = config["metrics"][metric].get("trials")
    if not trials or not trials["n_tests"]:
        return []
    name = "pass@" if trials["of"] == "pass@k" else "pass^"
    hidden, lost = trials["hidden_flakiness"], trials["n_incomplete"]
    counts = [f"{trials['verdicts'][verdict]} {verdict}" for verdict in VERDICTS]
    counts += [] if hidden is None else [f"hidden flakiness {number(hidden)}"]
    counts += [f"{lost} with lost trials"] if lost else []
    return [
        TrialsRow(
            name=config["name"],
            mark=sample(place % MAX_SERIES),
            curve=[
                (
                    f"{name}{row['k']}",
                    *(format_estimate(row["value"], row["lower"], row["upper"]) if row["n"] else ("-", "")),
                )
                for row in trials["curve"]
            ],
            counts=", ".join(counts),
            flaky=[
                f"{test['example_id']} ({test['n_passed']} of {test['n_trials']})"
                for test in trials["tests"]
                if test["verdict"] == FLAKY
            ],
            n_flaky=trials["verdicts"][FLAKY],
        )
    ]


def _list_turns(config: Mapping[str, Any], place: int, metric: str) -> list[TurnsRow]:
    """Return the row of a config whose evaluator judges each turn; nothing for other metrics."""
    if not (turns := config["metrics"][metric].get("turns")):
        return []
    shares = [turns[name] for name in ("per_turn", "per_conversation", "all_turns")]
    return [
        TurnsRow(
            name=config["name"],
            mark=sample(place % MAX_SERIES),
            shares=[
                ("", "") if share is None else format_estimate(share["value"], share["lower"], share["upper"])
                for share in shares
            ],
            counts=f"{turns['n_turns']} of {turns['n_conversations']} conversations"
            + (f", {turns['n_undecided']} undecided" if turns["n_undecided"] else ""),
        )
    ]


def short_words(found: Mapping[str, Any] | None) -> str:
    """Return the verdict with the size of the difference, short enough for a row."""
    if found is None or found["delta"] is None:
        return ""
    difference = found["mean"] or found
    ends = difference["new_data"] or {"lower": None, "upper": None}
    return f"{found['word']} {format_estimate(difference['delta'], ends['lower'], ends['upper'], signed=True)[0]}"


def build_cell(name: str, view: Mapping[str, Any]) -> MetricCell:
    """Write one metric of one config in words."""
    shown = headline(view)
    lower, value, upper = shown["lower"], shown["value"], shown["upper"]
    has_ends = None not in (lower, upper)
    value_text, ends = format_estimate(value, lower, upper)
    return MetricCell(
        name=name,
        value=value_text if has_ends else number(value),
        interval=ends if has_ends else "",
        covers=format_coverage(view) if has_ends else "",
        this_set=format_this_set(view),
        quantiles=format_quantiles(view),
        note=format_interval_note(view, shown),
        point=(lower, value, upper),
    )
