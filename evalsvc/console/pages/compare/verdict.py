"""The verdict of a comparison in words: better, worse, inconclusive, or the reason why it is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalsvc.console.parts.numbers import Number
from evalsvc.experiments.reporting.words import (
    BASES,
    UNDECIDED,
    format_joint_level,
    number,
    screen_sentence,
    verdict_sentence,
)
from evalsvc.stats.pairs.newpairs import BETTER, INCONCLUSIVE, WORSE

FEWEST_TO_FORESEE = 10
"""From fewer examples nothing is said of how many more it takes: one may look like a difference of everything."""
MOST_TESTS = 20
LEAST_P = 0.001
WARNINGS = {
    "other_evaluator": "The two use different evaluators for this metric.",
    "other_profile": "The two use different profiles for this metric.",
    "mixed_revisions": "The metric's profile was revised between the two.",
    "other_source": "The two read this metric from different sources.",
    "partly_paired": "Some examples are in only one of them; they are left out.",
    "nothing_paired": "They have no examples in common.",
}


@dataclass(frozen=True, slots=True)
class VerdictText:
    """The result of a comparison, first of all in words."""

    tone: str
    says: str
    why: str
    outlook: str
    new_data: Number
    this_set: str
    label: str
    warnings: tuple[str, ...]


def build_verdict(view: Mapping[str, Any]) -> VerdictText:
    """Put a comparison, as the API answers it, into words."""
    comparison, first, second = view["comparison"], view["a"]["name"], view["b"]["name"]
    tone, says = _says(comparison, first, second)
    return VerdictText(
        tone=tone,
        says=says,
        why=_why(comparison, view["metric"]),
        outlook=_outlook(comparison),
        new_data=new_data_number(comparison),
        this_set=_this_set(comparison),
        label=_label(comparison),
        warnings=tuple(WARNINGS.get(code, code.replace("_", " ")) for code in view["warnings"]),
    )


def build_trials(view: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the tests that differ the most, with a sentence about all; None for a metric without trials."""
    screen = view["trials"]
    if screen is None or not screen["n_tests"]:
        return None
    return {
        "says": screen_sentence(screen, view["a"]["name"], view["b"]["name"]),
        "tests": [
            test | {"p_text": f"{test['adjusted_p']:.3f}" if test["adjusted_p"] >= LEAST_P else f"< {LEAST_P}"}
            for test in screen["tests"]
            if test["a"] != test["b"]
        ][:MOST_TESTS],
        "note": "A screen for where to look: the verdict above is of all tests together. Fisher's exact test for each,"
        " adjusted for their number (Holm).",
    }


def new_data_number(found: Mapping[str, Any]) -> Number:
    """Return the difference with its interval for new data; of a total that of the mean."""
    estimate = found["mean"] or found
    ends = estimate["new_data"] or {"lower": None, "upper": None, "method": ""}
    size = max((abs(end) for end in (estimate["delta"], ends["lower"], ends["upper"]) if end is not None), default=1.0)
    return Number(
        estimate["delta"],
        ends["lower"],
        ends["upper"],
        n=found["n"],
        level=found["joint_level"],
        why_level=format_joint_level(found["level"], found["n_comparisons"]),
        covers="new_data" if ends["lower"] is not None else None,
        method=ends["method"] or "",
        low=-size,
        high=size,
        zero=True,
        missing="" if ends["lower"] is not None else "no interval yet",
    )


TONES = {BETTER: "good", WORSE: "bad", INCONCLUSIVE: "none"}


def _says(found: Mapping[str, Any], first: str, second: str) -> tuple[str, str]:
    if not found["n"]:
        return "none", "Nothing to compare yet: no example has a score in both."
    return TONES[found["word"]], verdict_sentence(found, first, second)


def _why(found: Mapping[str, Any], metric: str) -> str:
    if not found["n"]:
        return ""
    if found["reason"] is not None:
        return f"{metric}: {UNDECIDED[found['reason']]}."
    together = f"all {found['n_comparisons']} comparisons together" if found["n_comparisons"] > 1 else "this comparison"
    sentence = (
        f"At most {100 * (1 - found['level']):.3g} % of such verdicts are wrong, for {together}. The interval"
        f" is the fixed-sample one at {100 * found['joint_level']:.4g} %, and includes 0 while the verdict is"
        " inconclusive."
    )
    if (rests_on := found["rests_on"]) is None:
        return sentence
    evidence = max(rests_on["e_value_better"], rests_on["e_value_worse"])
    return (
        f"{sentence} Before the planned end a verdict takes an e-value of {number(rests_on['threshold'])}; it is"
        f" {number(evidence)}, from {rests_on['n_fresh']} examples that nobody had seen when the config was designed."
    )


def _outlook(found: Mapping[str, Any]) -> str:
    if found["word"] != INCONCLUSIVE or found["about_n_more"] is None or found["n"] < FEWEST_TO_FORESEE:
        return ""
    beyond = "" if found["can_be_settled"] else "; more than are left, so add examples or accept an inconclusive result"
    n = found["about_n_more"]
    return f"About {n} more examples like these would settle it, if the difference stays the same{beyond}."


def _this_set(found: Mapping[str, Any]) -> str:
    on_set = found["this_set"]
    if on_set["exact"]:
        return f"On this dataset it is {signed(found['delta'])} exactly: every example has a score in both."
    if on_set["lower"] is None:
        return ""
    return f"On this dataset it is between {signed(on_set['lower'])} and {signed(on_set['upper'])}."


def _label(found: Mapping[str, Any]) -> str:
    n = found["n_comparisons"]
    missing = f" {found['n_missing']} more have no score in one of them." if found["n_missing"] else ""
    return f"Analysis {BASES[found['label']]}, one of {n} comparison{'' if n == 1 else 's'}.{missing}"


def signed(value: float | None) -> str:
    """Write a difference with its sign."""
    return "—" if value is None else number(value, signed=True) if value else "0"
