"""Warnings of an interval in plain words: what was seen, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalsvc.reports.words import number_text

WARNINGS = {
    "n<30": "Fewer than 30 scores: expect less coverage than asked for. Prefer wilson, clopper-pearson or betting.",
    "degenerate": "All scores are equal, so that resampling gives an interval of no width.",
    "skewed": "Few scores carry the mean: one more at the end of the range would move it by more than its error.",
    "mixed_sources": "Evaluations, experiments or imports in it differ by more than chance. Choose a scope.",
    "mixed_revisions": "Several revisions of the profile have judged. Lines in the chart show where each began.",
}


def warning_words(interval: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield one sentence or two for each warning."""
    for name in (interval or {}).get("warnings", ()):
        yield _said(name, interval or {})
    advice = (interval or {}).get("advice")
    if advice and (interval or {}).get("degenerate"):
        yield f"The interval above is that of {advice['kind']} from the same scores, as the API advises."
    elif advice:
        ends = f"[{number_text(advice['lower'])}, {number_text(advice['upper'])}]"
        yield f"Advice: {advice['kind']} gives {ends} from the same scores."


def _said(name: str, interval: Mapping[str, Any]) -> str:
    if name == "autocorrelated":
        factor = interval["autocorrelation_width_factor"]
        return (
            "Each score resembles the one before it, so that the interval is too narrow: about "
            f"{number_text(factor, 3)} times this width is right. The strategy full-history-block minds the order."
        )
    if name == "drift":
        return drift_words(interval)
    return WARNINGS.get(name, name.replace("_", " "))


def drift_words(interval: Mapping[str, Any]) -> str:
    """Say when the level moved, from where to where, and how sure the new one is."""
    moved = interval["drift"]
    at = moved["changed_at"][:16].replace("T", " ")
    before, after, n_before = (
        number_text(moved["before"], 3),
        number_text(moved["after"], 3),
        interval["n"] - moved["n"],
    )
    return (
        f"The level has moved: the last {moved['n']} differ from the {n_before} before. {before} up to {at} UTC, "
        f"{after} since: [{number_text(moved['lower'])}, {number_text(moved['upper'])}]."
    )


def doubts_text(interval: Mapping[str, Any]) -> str:
    """Return the warnings as words for a list; the page of the history says more."""
    return ", ".join(name.replace("_", " ") for name in interval.get("warnings", ())) or "none"
