"""The verdict of a comparison in words: better, worse, inconclusive, or the reason why it is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalsvc.console.parts.numbers import Number
from evalsvc.experiments.reporting.words import format_joint_level, get_reason, number
from evalsvc.stats.pairs.newpairs import BETTER, MAY_BE_CHANCE, WORSE

FEWEST_TO_FORESEE = 10
"""From fewer examples nothing is said of how many more it takes: one may look like a difference of everything."""
WARNINGS = {
    "other_evaluator": "The metric is not made by the same evaluator in both.",
    "other_profile": "The metric is not made under the same profile in both.",
    "mixed_revisions": "The metric's profile has changed between the two.",
    "other_source": "The metric does not come from the same source in both.",
    "partly_paired": "Some examples of one have no partner in the other; they are left out.",
    "nothing_paired": "No example of one has a partner in the other.",
}


@dataclass(frozen=True, slots=True)
class VerdictText:
    """The result of a comparison, first of all in words."""

    tone: str
    says: str
    why: str
    outlook: str
    aside: str
    """Why the word and the interval say two things, where they do."""
    new_data: Number
    this_set: str
    label: str
    warnings: tuple[str, ...]


def build_verdict(view: Mapping[str, Any]) -> VerdictText:
    """Put a comparison, as the API answers it, into words."""
    comparison, first, second = view["comparison"], view["a"]["name"], view["b"]["name"]
    tone, says = _says(comparison["word"], first, second, comparison["n"], get_reason(comparison))
    return VerdictText(
        tone=tone,
        says=says,
        why=_why(comparison, view["metric"]),
        outlook=_outlook(comparison),
        aside=_aside(comparison),
        new_data=new_data_number(comparison),
        this_set=_this_set(comparison),
        label=_label(comparison),
        warnings=tuple(WARNINGS.get(code, code.replace("_", " ")) for code in view["warnings"]),
    )


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


def _says(word: str | None, first: str, second: str, n: int, untold: str) -> tuple[str, str]:
    if not n:
        return "none", "Nothing to compare yet: no example has been scored in both."
    return {
        BETTER: ("good", f"{first} is better than {second}."),
        WORSE: ("bad", f"{first} is worse than {second}."),
        MAY_BE_CHANCE: ("none", f"The difference between {first} and {second} may be chance."),
    }.get(word or "", ("none", f"No verdict on {first} against {second}: {untold}."))


def _why(found: Mapping[str, Any], metric: str) -> str:
    if not found["n"]:
        return ""
    if found["word"] is None:
        return (
            f"No verdict on {metric}: {get_reason(found)}. So nothing can be said that holds however often one looks."
            " The interval holds for one look, at one moment that was chosen beforehand."
        )
    rests = found["rests_on"]
    side = {BETTER: "for the first", WORSE: "for the second"}.get(found["word"], "for either")
    evidence = max(_evidence(found))
    enough = "passes" if found["word"] != MAY_BE_CHANCE else "stays below"
    return (
        f"The evidence {side} on new data is {number(evidence)} and {enough} {number(rests['threshold'])}, the"
        f" threshold at which such words are wrong for at most {100 * (1 - found['level']):.3g} % of experiments, all"
        f" {found['n_comparisons']} comparison{'' if found['n_comparisons'] == 1 else 's'} together, however often one"
        f" looks. It rests on {rests['n_fresh']} examples whose answers no designer had seen."
    )


def _outlook(found: Mapping[str, Any]) -> str:
    if found["word"] != MAY_BE_CHANCE or found["about_n_more"] is None or found["n"] < FEWEST_TO_FORESEE:
        return ""
    beyond = "" if found["can_be_settled"] else "; that is more than are left, so add examples or accept not knowing"
    n = found["about_n_more"]
    return f"About {n} more examples like these would settle it, if the difference stays what it is{beyond}."


def _aside(found: Mapping[str, Any]) -> str:
    ends = (found["mean"] or found)["new_data"]
    if found["word"] != MAY_BE_CHANCE or ends is None or ends["lower"] is None:
        return ""
    if ends["lower"] <= 0 <= ends["upper"]:
        return ""
    evidence, needed = max(_evidence(found)), found["rests_on"]["threshold"]
    return (
        "The interval leaves 0 out: who looks once, at a moment chosen beforehand, sees a difference. The word asks for"
        f" evidence that holds however often one looks, and has {number(evidence)} of the {number(needed)} it needs."
    )


def _evidence(found: Mapping[str, Any]) -> tuple[float, float]:
    return found["rests_on"]["e_value_better"], found["rests_on"]["e_value_worse"]


def _this_set(found: Mapping[str, Any]) -> str:
    on_set = found["this_set"]
    if on_set["exact"]:
        return f"On this set it is {signed(found['delta'])} exactly: every example has been scored in both."
    if on_set["lower"] is None:
        return ""
    return f"On this set it is between {signed(on_set['lower'])} and {signed(on_set['upper'])}."


def _label(found: Mapping[str, Any]) -> str:
    n = found["n_comparisons"]
    missing = f" {found['n_missing']} more have no score in one of them." if found["n_missing"] else ""
    return f"Interval: {found['label']}, one of {n} comparison{'' if n == 1 else 's'}.{missing}"


def signed(value: float | None) -> str:
    """Write a difference with its sign."""
    return "—" if value is None else number(value, signed=True) if value else "0"
