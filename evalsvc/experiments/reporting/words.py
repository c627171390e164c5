"""Texts for boards and comparisons: every number names what it covers, new data before this dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.text import Truncator

from evalsvc.digits import digits_text, estimate_texts, format_places, level_text
from evalsvc.stats.basics.rows import IntervalRows, describe_rows
from evalsvc.stats.pairs.newpairs import BETTER, INCONCLUSIVE, WORSE
from evalsvc.stats.pairs.verdict import MONITORING, PLANNED_END, POST_HOC

MINUS = "\N{MINUS SIGN}"
UNDECIDED = {
    "no_range": "no verdict: the metric has no declared range, so declare its `value_range`",
    "not_over_clusters": "no verdict before the planned end: interim analyses treat examples as independent",
    "much_missing": "no verdict: a tenth of the examples or more miss a score or a trial, which could reverse it",
}
"""Why there is no verdict, by the `reason` of a comparison."""
BASES = {
    MONITORING: "before the planned end",
    PLANNED_END: "at the planned end",
    POST_HOC: "post hoc",
}
"""When a comparison is made, by its `label`."""


def headline(view: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a metric's view that is shown first: of a total the mean, which new data have too."""
    return view["mean"] or view


def format_joint_level(level: float, n: int) -> str:
    """Return why an interval has a higher level than requested: so that several are valid jointly."""
    return f"so that all {n} comparisons hold together at {level_text(level)}" if n > 1 else ""


def format_coverage(view: Mapping[str, Any]) -> str:
    """Return what an interval covers and when it is valid."""
    head = headline(view)
    name = "mean on " if view["mean"] else ""
    return f"{name}{head['covers']}, {head['safe']}, {level_text(view['level'])}"


def format_validity(shown: Mapping[str, Any]) -> str:
    """Return what the interval of a headline covers and when it is valid; empty without an interval."""
    return f"for {shown['covers']}, {shown['safe']}" if shown["lower"] is not None else ""


def format_quantiles(view: Mapping[str, Any]) -> list[str]:
    """Return the quantiles displayed next to the mean of latencies and costs; with few scores a bound is missing."""
    return [_quantile_words(quantile) for quantile in view["quantiles"] or ()]


def _quantile_words(found: Mapping[str, Any]) -> str:
    if found["lower"] is None or found["upper"] is None:
        return f"{found['name']}: {number(found['value'])}, interval from {found['n_needed']} scores on"
    value, ends = format_estimate(found["value"], found["lower"], found["upper"])
    return f"{found['name']}: {value} {ends}"


def format_this_set(view: Mapping[str, Any]) -> str:
    """Return what the metric is on this set, or in which bounds it will be; of one without any score, why."""
    if view["value"] is None:
        return describe_counts(view) if view["n_error"] or view["n_na"] or view["stopped"] else ""
    this_set = view["this_set"]
    if this_set is None:
        return ""
    name = "total of this set" if view["mean"] else "this set"
    if this_set["exact"]:
        return f"{name}: {number(view['value'])} exactly"
    if this_set["lower"] is None:
        return f"{name}: {number(view['value'])} on the {view['n']} scored"
    return f"{name}: {' '.join(format_estimate(view['value'], this_set['lower'], this_set['upper']))}"


def format_interval_note(view: Mapping[str, Any], shown: Mapping[str, Any]) -> str:
    """Return how an interval was found, from how many, and what to mind."""
    words = [shown["method"] or "no interval", describe_counts(view)]
    once = (shown["new_data"] or {}).get("one_look")
    if once is not None and once["lower"] is not None:
        words.append(f"for one look {interval(once['lower'], once['upper'])}")
    return "; ".join([*words, *format_warnings(view)])


def describe_counts(view: Mapping[str, Any]) -> str:
    """Return which rows an estimate is from, and what became of the other examples."""
    words = (("n_na", "not applicable"), ("n_pending", "pending"))
    counts = [f"{view[name]} {word}" for name, word in words if view[name]]
    stop_reasons = [view["stopped"]] if view["stopped"] else []
    return "; ".join([describe_rows(IntervalRows(**view["rows"])), *counts, *stop_reasons])


WARNINGS = {
    "missing": "{share} of the scores are missing",
    "undecided": "{share} of the outputs are undecided",
    "failures_excluded": "{share} of the outputs failed and are left out",
    "failures_worst": "{share} of the outputs failed and count as the worst value",
    "truncated": "more than 2 % of the answers were cut off at their token limit",
    "failures_not_at_random": "it fails on the examples that the others find hard",
}


def format_warnings(view: Mapping[str, Any]) -> list[str]:
    """Return the warnings of a metric, with the share of the rows that are missing or left out."""
    rows = IntervalRows(**view["rows"])
    counts = {"missing": rows.n_missing, "undecided": rows.n_undecided, f"failures_{rows.failed_as}": rows.n_failed}
    shares = {name: f"{100 * n / rows.n_all:.3g} %" for name, n in counts.items() if n}
    return [WARNINGS.get(name, name).format(share=shares.get(name, "")) for name in view["warnings"]]


def format_seen_examples(view: Mapping[str, Any], seen: Mapping[str, Any] | None) -> str:
    """Return what a clone did on the examples that its designer may have seen, and whether there are others."""
    words = [f"{number(seen['value'])} on the {seen['n']} seen before its design"] if seen else []
    if "no_fresh_examples" in view["warnings"]:
        words.append("designed after every answer could be seen")
    elif view["designed_after"]:
        words.append(f"designed after {view['designed_after']} examples")
    return "; ".join(words)


def format_metric_note(metric: Mapping[str, object], reference: Mapping[str, object] | None) -> str:
    """Return the note below a metric's name: whether lower is better, whether it was added later, and its history."""
    added = "added later: one look" if metric.get("addition") else ""
    lower = "" if metric.get("higher_is_better", True) else "lower is better"
    before = format_history(reference, is_binary=bool(metric.get("binary")))
    return "; ".join(words for words in (lower, added, before) if words)


def format_history(found: Mapping[str, Any] | None, *, is_binary: bool = False) -> str:
    """Return what the history of evaluator and profile was before; nothing where it is too short for an interval.

    It is that of the account, of other samples: nothing that a config can be better than.
    """
    if found is None or found["lower"] is None:
        return ""
    is_flat = found["lower"] == found["upper"]
    value, ends = format_estimate(found["value"], found["lower"], found["upper"])
    what = "share that passes" if found["of"] == "pass" or is_binary else "mean score"
    whose = "the account's history before, for orientation (other samples and apps, so no baseline)"
    # Reports of earlier versions do not have the rows.
    rows = IntervalRows(**(found.get("rows") or {"n": found["n"]}))
    return f"{whose}: {what} {value} {'in every score' if is_flat else ends}, {describe_rows(rows, 'scores')}"


LED = {
    "done": "led at the end, not settled",
    "failed": "led when it failed, not settled",
    "idle": "led when it was stopped, not settled",
}
"""What leading means, by the state of the experiment, where nothing is running and nobody was shown to be best."""


LEVEL = {"done": "level at the end", "failed": "level when it failed", "idle": "level when it was stopped"}
MOST_LEVEL = 3
"""Names that are said of those that are level."""


def describe_leader(is_settled: bool | None, state: str, *, is_level: bool = False) -> str:
    """Return what leading means: so far while it runs, otherwise at the end; or that several configs are tied."""
    if is_level:
        return LEVEL.get(state, "level so far")
    return "leader" if is_settled is not False else LED.get(state, "leader so far, not settled")


def level_names(names: Sequence[str]) -> str:
    """Name those that are level."""
    few = names if len(names) <= MOST_LEVEL else [*names[: MOST_LEVEL - 1], f"{len(names) - MOST_LEVEL + 1} others"]
    *first_names, last = few
    return f"{', '.join(first_names)} and {last}" if first_names else last


def format_comparison(found: Mapping[str, Any] | None, titles: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return how a config compares with another on new data, and beneath it on this set, and what it would take."""
    if found is None or found["delta"] is None:
        return "", []
    difference = found["mean"] or found
    ends = difference["new_data"]
    if ends is not None and ends["lower"] is not None:
        delta, bounds = format_estimate(difference["delta"], ends["lower"], ends["upper"], signed=True)
        words = f"{found['word']}: {delta} {bounds} on new data"
    else:
        words = f"{found['word']}: {number(difference['delta'], signed=True)}"
    other = Truncator(titles.get(found["config_id"], "a deleted config")).chars(40)
    words += f", {found['n']} pair{'' if found['n'] == 1 else 's'} with {other}"
    return words, [aside for aside in (difference_words(found), format_look(found), format_outlook(found)) if aside]


def difference_words(found: Mapping[str, Any]) -> str:
    """Return what the difference is on this set."""
    on_set = found["this_set"]
    if on_set["exact"]:
        return f"on this set: {number(found['delta'], signed=True)} exactly"
    if on_set["lower"] is None:
        return ""
    return f"on this set: {interval(on_set['lower'], on_set['upper'], signed=True)}"


def format_look(found: Mapping[str, Any]) -> str:
    """Return when the interval is valid, and among how many comparisons."""
    n = found["n_comparisons"]
    return f"{BASES[found['label']]}, {n} comparison{'' if n == 1 else 's'}"


def format_outlook(found: Mapping[str, Any]) -> str:
    """Return how many more examples a verdict would take, or why it cannot be reached."""
    if found["reason"] is not None:
        return UNDECIDED[found["reason"]]
    if found["word"] != INCONCLUSIVE or found["about_n_more"] is None:
        return ""
    beyond = "" if found["can_be_settled"] else ", which is more than are left"
    return f"about {found['about_n_more']} more like these would settle it{beyond}"


def screen_sentence(screen: Mapping[str, Any], first: str, second: str) -> str:
    """Say how many tests one config passes less often, or more often, than the other."""
    if not screen["n_worse"] and not screen["n_better"]:
        return f"No test of {screen['n_tests']} differs by more than chance; few trials of each test show little."
    return (
        f"Of {screen['n_tests']} tests, {first} passes {screen['n_worse']} less often than {second} and"
        f" {screen['n_better']} more often ({100 * screen['level']:g} % confidence that all of each are right)."
    )


NO_VERDICT = "inconclusive (no significant difference yet)"


def verdict_sentence(found: Mapping[str, Any], first: str, second: str) -> str:
    """Return the verdict on two configs as a sentence, from the side of the one that is better or ahead."""
    difference = found["mean"] or found
    if difference["delta"] is None:
        return f"{first} against {second}: {NO_VERDICT}."
    ends = difference["new_data"] or {"lower": None, "upper": None}
    delta, lower, upper = difference["delta"], ends["lower"], ends["upper"]
    if found["word"] == WORSE or (found["word"] == INCONCLUSIVE and delta < 0):
        first, second = second, first
        delta, lower, upper = (None if end is None else 0.0 - end for end in (delta, upper, lower))
    by = " ".join(format_estimate(delta, lower, upper)) if lower is not None else number(delta)
    if found["word"] == BETTER or found["word"] == WORSE:
        return f"{first} is better than {second} by {by}."
    ahead = f"{first} is ahead of {second} by {by}" if delta else f"{first} and {second} are level"
    return f"{ahead}: {NO_VERDICT}."


def number(value: float | None, *, signed: bool = False) -> str:
    """Write a number for reading: three places of small ones, four digits of large ones, thousands in full."""
    if value is None:
        return "-"
    if not isinstance(value, int) and abs(value) < 10:
        text = format_places(value, signed=signed)
    else:
        text = ("+" if signed and value >= 0 else "") + digits_text(value)
    return text.replace("-", MINUS)


def format_estimate(
    value: float | None, lower: float | None, upper: float | None, *, signed: bool = False
) -> tuple[str, str]:
    """Write an estimate and its interval with the decimals that the interval supports."""
    value_text, ends = estimate_texts(value, lower, upper, signed=signed)
    return "-" if value is None else value_text.replace("-", MINUS), ends.replace("-", MINUS)


def interval(lower: float | None, upper: float | None, *, signed: bool = False) -> str:
    """Write an interval."""
    return format_estimate(None, lower, upper, signed=signed)[1]
