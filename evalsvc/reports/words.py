"""Numbers and states in the words that people read: the same in HTML and in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalsvc.digits import count_places, digits_text, estimate_texts, level_text
from evalsvc.rest.answering.renderers import dumps
from evalsvc.stats.basics.rows import IntervalRows, describe_rows

NOTHING, NARROW_SPACE = "—", "\u202f"
WHOLE = 1e7
"""Below it a mean without decimals is written whole; counts are, however large."""
OF_CHATS = {"output", "model", "finish_reason"}
"""What an answer of a model is stored with: people read its text."""
POLICIES = {
    "manual": "nobody but people stop configs",
    "race_safe": "race; the best config is kept at the stated level",
    "race_default": "race; each pair at the stated error",
    "race_fast": "race by paired t tests",
    "halving": "successive halving at shard ends",
}
FAILURES = {"worst": "the worst value of each metric's range", "exclude": "nothing; they are left out"}
LIMITS = (
    "Intervals that say “new data” are about examples like these that nobody has seen; those that say “this set” are "
    "about these examples alone. A difference is called better or worse if the test at the planned end, or the "
    "evidence of interim analyses, says so for all comparisons together; otherwise it is inconclusive. Errors are "
    "never scores: they are counted apart."
)


def number_text(value: Any, digits: int = 4) -> str:
    """Return a number with so many significant digits, thousands apart; a dash where there is none."""
    if value is None:
        return NOTHING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or (value.is_integer() and abs(value) < WHOLE):
        return f"{value or 0:,.0f}".replace(",", NARROW_SPACE)
    text = digits_text(value, digits)
    return f"{int(text):,}".replace(",", NARROW_SPACE) if text.lstrip("-").isdigit() else text


def estimate_words(
    value: float | None, lower: float | None, upper: float | None, *, limit: float | None = None
) -> tuple[str, str]:
    """Return an estimate and its interval, with the decimals that the interval supports; a dash where there is none.

    An end that is not the `limit` is not written as it.
    """
    if count_places(value, lower, upper) is None:
        has_ends = lower is not None or upper is not None
        return number_text(value), f"[{number_text(lower)}, {number_text(upper)}]" if has_ends else NOTHING
    estimate, interval = estimate_texts(value, lower, upper, thousands=NARROW_SPACE, limit=limit)
    return NOTHING if value is None else estimate, interval


def value_text(row: Mapping[str, Any], name: str = "value") -> str:
    """Return the estimate of a row that also has `lower` and `upper`; a dash where there is none."""
    return estimate_words(row.get(name), row.get("lower"), row.get("upper"))[0]


def interval_text(row: Mapping[str, Any] | None, name: str = "value") -> str:
    """Return the interval of a row; a dash where there is none."""
    return NOTHING if row is None else estimate_words(row.get(name), row.get("lower"), row.get("upper"))[1]


def moment_text(value: datetime | str | None) -> str:
    """Format a time to the minute, in UTC as stored."""
    if value is None:
        return NOTHING
    return value.strftime("%Y-%m-%d %H:%M UTC") if isinstance(value, datetime) else value


def format_value(value: Any) -> str:
    """Format a value as text: strings and outputs of models unchanged, anything else as JSON."""
    if value is None:
        return NOTHING
    if isinstance(value, dict) and "output" in value and set(value) <= OF_CHATS:
        return format_value(value["output"])
    return value if isinstance(value, str) else dumps(value).decode()


def format_verdict(versus: Mapping[str, Any] | None) -> str:
    """Format whether a difference is better, worse or inconclusive."""
    if versus is None:
        return NOTHING
    return str(versus["word"])


NO_BOTTLENECK = {
    "no_gap": "perfect predecessors would gain nothing.",
    "may_be_chance": "the largest gap is not significant.",
    "unknown_predecessors": "which components come before is not known.",
}
RANKING_NOTES = {
    "not_connected": "Some configs never met, not even through a third: ranks hold within groups.",
    "few_examples": "Few examples: intervals may be too narrow.",
    "pairs_were_chosen_by_results": "Pairs were chosen by earlier results.",
    "open_end": "A config that won or lost everything has an open end.",
}


def leading_sentence(summary: Mapping[str, Any]) -> str:
    """Return one sentence about the leader by the primary metric, with its uncertainty."""
    if (confirmation := summary["confirmation"]) is not None:
        return f"{_leading_sentence(summary)} {confirmation_sentence(confirmation)}"
    return _leading_sentence(summary)


def confirmation_sentence(confirmation: Mapping[str, Any]) -> str:
    """Return what the examples show that were kept for the chosen config, or how far it has come with them."""
    config, metric = confirmation["config"], confirmation["metric"]
    tie = f" (first of {confirmation['n_tied']} tied configs)" if confirmation["n_tied"] > 1 else ""
    if confirmation["method"] is None:
        return f"Confirming {config}{tie}: {confirmation['n']} of {confirmation['n_planned']} examples scored."
    rows = describe_rows(IntervalRows(**confirmation["rows"]), "examples that decided nothing")
    return (
        f"Confirmed: {config}{tie} has {metric} {value_text(confirmation)}, {interval_text(confirmation)} "
        f"at {level_text(confirmation['level'])} on {rows}."
    )


def _leading_sentence(summary: Mapping[str, Any]) -> str:
    if summary["tied"]:
        return f"Tie on {summary['primary_metric']}: {', '.join(summary['tied'])}."
    if summary["leader"] is None:
        return "No config leads yet."
    estimate = summary["estimate"]
    conclusion = {
        True: "It is better on new data than every other config.",
        False: "It is not significantly better than every other config.",
        None: "There is no other config to be better than.",
    }[summary["leader_settled"]]
    return (
        f"{summary['leader']} leads with {summary['primary_metric']} {value_text(estimate)}, "
        f"{interval_text(estimate)} at {level_text(estimate['level'])} for {estimate['covers'] or 'no statement'} "
        f"({describe_rows(IntervalRows(**estimate['rows']))}). {conclusion}"
    )


def errors_text(result: Mapping[str, Any]) -> str:
    """Return how many examples of an estimate have no score; those that the evaluator has not decided apart."""
    n_undecided = result["rows"].get("n_undecided", 0)
    undecided = f" + {number_text(n_undecided)} undecided" if n_undecided else ""
    return f"{number_text(result['n_error'] - n_undecided)}{undecided}"


def build_basis_rows(report: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Build the rows that describe the setup of the experiment, and its current state."""
    plan, head, dataset = report["plan"], report["live"]["experiment"], report["dataset"]
    budget = {name: getattr(plan.budget, name) for name in ("queries", "cost", "seconds")}
    limits = [f"{number_text(value)} {name}" for name, value in budget.items() if value is not None]
    limits += [f"the first {number_text(plan.limit)} examples of the order"] if plan.limit else []
    return [
        ("Dataset", f"{dataset['name']}, version {dataset['version']}: {number_text(dataset['n_examples'])} examples"),
        ("Content hash of the examples", dataset["content_hash"]),
        ("Seed of the order", str(plan.seed)),
        ("Level of each interval", level_text(plan.level)),
        ("Policy", f"{plan.policy}: {POLICIES.get(plan.policy, '')}"),
        ("Primary metric", f"{plan.primary_metric} ({'higher' if is_higher_better(report) else 'lower'} is better)"),
        ("Baseline", plan.baseline or "none declared"),
        ("Limits", ", ".join(limits) or "none"),
        ("Failed outputs count as", FAILURES.get(plan.failures, NOTHING)),
        ("State", head["state"]),
        ("Started, finished", f"{moment_text(head['started_at'])}, {moment_text(head['finished_at'])}"),
        ("Queries", number_text(head["n_queries"])),
        ("Cost", number_text(head["cost"])),
    ]


def is_higher_better(report: Mapping[str, Any]) -> bool:
    """Return whether more of the primary metric is better."""
    plan = report["plan"]
    return next(bool(metric.higher_is_better) for metric in plan.metrics if metric.name == plan.primary_metric)


def rank_configs(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the configs, the leader first, then by the primary metric; those without a value last."""
    name, sign = report["plan"].primary_metric, -1.0 if is_higher_better(report) else 1.0

    def place(config: Mapping[str, Any]) -> tuple[bool, bool, float]:
        value = config["metrics"][name]["value"]
        return config["id"] != report["live"]["leader"], value is None, sign * (value or 0.0)

    return sorted(report["live"]["configs"], key=place)


@dataclass(frozen=True, slots=True)
class ComponentRow:
    """One metric of one component of one config, in one mode."""

    config: str
    component: str
    mode: str
    metric: str
    shown: Mapping[str, Any]


def component_rows(report: Mapping[str, Any]) -> list[ComponentRow]:
    """Return the metrics by component, with the modes of a metric in consecutive rows."""
    rows = [
        ComponentRow(config["name"], component, mode, metric, result)
        for config in rank_configs(report)
        for component, modes in config["by_component"].items()
        for mode, metrics in modes.items()
        for metric, result in metrics.items()
    ]
    places = {config["name"]: i for i, config in enumerate(rank_configs(report))}
    return sorted(rows, key=lambda row: (places[row.config], row.component, row.metric, row.mode))


def slice_name(row: Mapping[str, Any]) -> str:
    """Return the values that make a slice."""
    values = ", ".join(f"{name} {format_value(value)}" for name, value in row["values"].items())
    return f"{values} (all others)" if row["is_rest"] else values


def format_joint_level(slices: Mapping[str, Any]) -> str:
    """Format the joint confidence level of the intervals of slices."""
    level = level_text(slices["level"])
    return f"{number_text(slices['n_comparisons'])} intervals hold together at {level}, for {slices['covers']}."


def gap_rows(components: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the gaps of all configs, each with the config's name."""
    return [(config["name"], row) for config in components["configs"] for row in config["gaps"]]


def bottleneck_sentence(config: Mapping[str, Any]) -> str:
    """Return one sentence about the bottleneck of a config, or why none is named."""
    bottleneck = config["bottleneck"]
    if bottleneck is None:
        return f"{config['name']}: {NO_BOTTLENECK.get(config['reason'] or '', 'no component is named.')}"
    names = ", ".join(bottleneck["components"])
    gain = f"{value_text(bottleneck, 'gain')} {interval_text(bottleneck, 'gain')}"
    return f"{config['name']}: {names} holds it back most. Perfect output of it gains {bottleneck['metric']} {gain}."


def rank_range(place: Mapping[str, Any]) -> str:
    """Return between which ranks a config is."""
    best, worst = place["rank_from"], place["rank_to"]
    return f"{best}" if best == worst else f"{best} to {worst}"


def comparison_sentence(one: Mapping[str, Any]) -> str:
    """Return a summary of a comparison: judge, number of judgements, and notes that limit its interpretation."""
    head, ranking = one["comparison"], one["ranking"]
    judge = head.judge
    by = judge.metric or judge.evaluator or judge.connection or "people"
    clauses = [f"{head.state}, design {head.design}, judged by {by}: {number_text(ranking['n_judgements'])} judgements"]
    clauses += [f"{number_text(n)} {what}" for n, what in ((head.n_ties, "ties"), (head.n_errors, "errors")) if n]
    if head.n_flips:
        clauses.append(f"{number_text(head.n_flips)} in which both orders disagree")
    notes = [RANKING_NOTES.get(note, note) for note in ranking["notes"]]
    return " ".join([f"{', '.join(clauses).capitalize()}.", *notes])
