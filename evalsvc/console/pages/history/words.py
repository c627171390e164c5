"""Warnings of an interval in plain words: what was seen, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalsvc.evaluations.wire.interval_request import AUTO
from evalsvc.reports.words import interval_text, number_text
from evalsvc.stats.strategies.of_histories import BLOCK_SCORES

WARNINGS = {
    "degenerate": "All scores are equal, so resampling gives an interval without width.",
    "skewed": "A few scores dominate the mean: one extreme score would move it by more than its standard error.",
    "selected": "Promoted scores come from the best of several configs: expect lower scores in production.",
    "truncated": "Many outputs were cut off at their token limit. They count as failures: raise the limit.",
    "unweighted": "Rules drew the scores with unequal probabilities, and this strategy counts each alike: use auto.",
    "no_range": "The scores have no declared range, so one more may move their mean by any amount.",
    "mixed_sources": "Evaluations, experiments or imports in it differ by more than chance. Choose a scope.",
    "mixed_revisions": "Scores come from several revisions of the profile. Lines in the chart mark where each begins.",
}


FEW = "Fewer than 30 scores"
BLOCK = "full-history-block"
SURE_OF_FEW = (AUTO, "wilson", "clopper-pearson", "betting")
"""Strategies that hold at any n."""
IN_A_LIST = {"degenerate": "all equal"}
"""What a list says in place of a warning's name."""


def warning_words(interval: Mapping[str, Any] | None, *, has_range: bool) -> Iterator[str]:
    """Yield one sentence or two for each warning; `has_range`: whether it is known between which numbers scores lie."""
    for name in (interval or {}).get("warnings", ()):
        if name != "n<30":
            yield _format_option(name, interval or {})
        elif interval is not None and interval["n"] > 1 and interval["lower"] is not None:
            yield _describe_few_scores(interval, has_range)
    advice = (interval or {}).get("advice")
    if advice and (interval or {}).get("degenerate"):
        yield f"The interval above is that of {advice['kind']} from the same scores, as recommended."
    elif advice:
        ends = interval_text(advice)
        yield f"Advice: {advice['kind']} gives {ends} from the same scores."


def _describe_few_scores(interval: Mapping[str, Any], has_range: bool) -> str:
    """Explain how reliable the interval of few scores is, and suggest a strategy that this history supports."""
    n_eff = interval.get("rows", {}).get("n_eff")
    if n_eff is not None:
        return f"Worth fewer than 30 scores of equal weight ({number_text(n_eff, 3)}): a few more may change it a lot."
    if format_strategy(interval) in SURE_OF_FEW:
        return f"{FEW}: the interval is valid, but a few more scores may change it a lot."
    better = "wilson or clopper-pearson" if interval["of"] == "pass" else "betting" if has_range else ""
    remedy = f"Prefer {better}." if better else "No strategy does better without a declared range."
    return f"{FEW}: expect less coverage than the confidence level. {remedy}"


def format_strategy(interval: Mapping[str, Any]) -> str:
    """Return the strategy of the displayed interval.

    The advised one if all scores are equal, else the requested one.
    """
    advice = interval.get("advice") if interval.get("degenerate") else None
    return str(advice["kind"] if advice else interval["strategy"])


def _format_option(name: str, interval: Mapping[str, Any]) -> str:
    if name == "autocorrelated":
        return _describe_autocorrelation(interval)
    if name == "repeated_samples":
        return _describe_repeats(interval)
    return WARNINGS.get(name, name.replace("_", " "))


def _describe_repeats(interval: Mapping[str, Any]) -> str:
    """Return how many samples the scores are of, and whether the interval allows for it."""
    repeats = f"{interval['n']} scores are of {interval['n_distinct']} distinct samples"
    if interval["cluster_by"] is not None:
        return f"{repeats}. The interval is clustered by the tag {interval['cluster_by']}."
    if interval["strategy"] == AUTO:
        return f"{repeats}. The interval is clustered by sample."
    return f"{repeats}, so the interval is too narrow. The strategy {AUTO} clusters by sample."


def _describe_autocorrelation(interval: Mapping[str, Any]) -> str:
    """Return what it means that neighbours resemble each other, and what minds it, if anything can yet."""
    pattern = "Consecutive scores are correlated"
    if interval["strategy"] == BLOCK:
        return f"{pattern}. This strategy accounts for that."
    factor = number_text(interval["autocorrelation_width_factor"], 3)
    when = "" if interval["n"] >= BLOCK_SCORES else f" from {BLOCK_SCORES} scores on"
    return (
        f"{pattern}, so that the interval is too narrow: about {factor} times this width is right. "
        f"The strategy {BLOCK} minds the order{when}."
    )


def format_warning_list(interval: Mapping[str, Any]) -> str:
    """Return the warnings for a table cell; the history page explains them in full."""
    return ", ".join(IN_A_LIST.get(name, name.replace("_", " ")) for name in interval.get("warnings", ())) or "none"
