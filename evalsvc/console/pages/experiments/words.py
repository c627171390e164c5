"""States and decisions as pages show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.experiments.models import ExperimentPlan
from evalsvc.experiments.reporting.words import number
from evalsvc.reports.page.elements import element, join_parts

STATES = tuple(ExperimentPlan.State.values)
ENDED = (ExperimentPlan.State.DONE, ExperimentPlan.State.FAILED)
TONES = {
    "running": "live",
    "queued": "live",
    "completed": "good",
    "done": "good",
    "stopped": "warn",
    "idle": "warn",
    "failed": "bad",
}
WHY = {
    "evidence": "the evidence against it reached the threshold",
    "futility": "it could not catch up on the remaining examples",
    "epsilon": "it is not better than {against} by the smallest difference that matters (epsilon), or more",
    "fast": "the paired test found it worse",
    "halving": "it was not in the better half at the end of a shard",
    "decided": "it is the last config in the race",
    "budget": "the budget is spent",
    "error": "it kept failing",
    "abort": "an output failed, and the plan stops on errors",
    "pause": "paused at the end of a shard until someone resumes it",
    "confirm": "it led before, so it answers the reserved confirmation examples",
    "promotion_failures": "more than 1 % of its outputs failed; promote it manually if its scores represent production",
    "promotion_repeats": "a history already has scores of the same examples",
    "resumed": "the reason for stopping it no longer holds, so the policy resumed it",
}
VERBS = {
    "resumed": "went on",
    "confirm": "was chosen for confirmation",
    "promotion_failures": "was not promoted",
    "promotion_repeats": "was not promoted",
}
SHOWN_BETTER = ("evidence", "futility", "fast")
"""Reasons that say the other one is better; the others say that it is not much worse, or nothing of two configs."""
EVIDENCE = {
    "e_value": "evidence on these examples (e-value)",
    "threshold": "required evidence",
    "n": "examples compared",
    "start": "after the first",
    "n_plus": "examples on which the other was better",
    "n_minus": "examples on which it was better",
    "difference": "how far the other was ahead on these examples, as a share of the metric's range",
    "lead": "the same, summed over the examples",
    "remaining": "remaining examples",
    "kept": "configs that were kept",
    "n_error": "failed answers",
    "n_tied": "configs tied for the lead; the first was chosen",
    "histories": "histories that already have the examples",
}


OF_ONE = {
    "n": "examples answered",
    "difference": "its mean difference from the others, as a share of the metric's range",
}
"""The same evidence where it is of one config, and of no pair."""


def state_markup(state: str, about: str = "") -> SafeString:
    """Return a state as a badge. Its text identifies the state without the colour."""
    badge = element("span", state, class_=f"badge {TONES.get(state, '')}".strip())
    return join_parts([badge, element("span", about, class_="facts") if about else None])


def decision_words(decision: Mapping[str, Any]) -> dict[str, Any]:
    """Return a decision in words: what was done to whom, why, and the evidence that it rested on."""
    verb, other = VERBS.get(decision["reason"], "was stopped"), decision["against"]
    is_behind = other and decision["reason"] in SHOWN_BETTER
    against = f", as {other} is better on the examples of this dataset" if is_behind else ""
    names = EVIDENCE if other else EVIDENCE | OF_ONE
    flying, why = decision["n_in_flight"], WHY.get(decision["reason"], decision["reason"])
    return {
        "at": decision["created_at"],
        "config": decision["config"],
        "says": f"{verb} after {decision['watermark']} examples{against}: {why.format(against=other or 'the leader')}."
        + (f" {flying} outputs in progress were kept." if flying else ""),
        "evidence": [
            (names.get(key, key.replace("_", " ")), _value(value)) for key, value in decision["evidence"].items()
        ],
    }


def _value(value: Any) -> str:
    return number(value) if isinstance(value, int | float) else str(value)
