"""A gate's decision as the service answered it, in lines for a person."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

EXIT_STATUS = {"pass": 0, "fail": 1, "undecided": 2}
TROUBLE = 3
"""Exit status when nothing was decided: the service was not reached, or a rule cannot be asked."""
WORDS = {
    "pass": "every rule is shown to hold",
    "fail": "the opposite of a rule is shown",
    "undecided": "these examples cannot tell; more are needed",
}
KIND_WORDS = {
    "not_worse_by": "not worse by",
    "better_by": "better by",
    "at_least": "at least",
    "at_most": "at most",
}
MOST_REGRESSIONS = 5
LONGEST_TEXT = 100


@dataclass(frozen=True, slots=True)
class DecisionAnswer:
    """What a gate has decided, rule by rule, with what that rests on."""

    id: str
    outcome: str
    rules: Sequence[Mapping[str, Any]]
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> DecisionAnswer:
        """Read the `gate` of an answer."""
        return cls(str(body["id"]), str(body["outcome"]), body["rules"], body)

    @property
    def exit_status(self) -> int:
        """Return the status that a build server reads: 0 pass, 1 fail, 2 undecided."""
        return EXIT_STATUS.get(self.outcome, TROUBLE)

    def lines(self) -> Iterator[str]:
        """Yield the decision, each rule with its numbers, and the worst regressions."""
        covers = str(self.raw.get("covers") or "").replace("_", " ")
        facts = ", ".join(part for part in (f"gate {self.id}", f"level {self.raw.get('level')}", covers) if part)
        yield f"{self.outcome.upper()}: {WORDS.get(self.outcome, '')} ({facts})"
        for rule in self.rules:
            yield f"  {rule['outcome']:<9} {rule_line(rule)}"
        regressions = self.raw.get("regressions") or ()
        if regressions:
            yield f"{len(regressions)} regressions, the worst first:"
        for one in regressions[:MOST_REGRESSIONS]:
            yield f"  {_regression_line(one)}"


def rule_line(rule: Mapping[str, Any]) -> str:
    """Return a rule with its estimate, its interval, what it was counted on, and what would settle it."""
    quantile = f" p{rule['quantile'] * 100:g}" if rule.get("quantile") else ""
    asked = f"{rule['metric']}{quantile} {KIND_WORDS.get(rule['kind'], rule['kind'])} {rule['limit']:g}"
    parts = [f"{asked}: {_estimate(rule)}, n = {rule.get('n')}"]
    if rule.get("n_improved") is not None:
        parts.append(f"{rule['n_improved']} improved, {rule['n_regressed']} regressed, {rule['n_unchanged']} unchanged")
    if rule["outcome"] == "undecided" and rule.get("about_n_more"):
        parts.append(f"about {rule['about_n_more']} more examples would settle it")
    if rule["outcome"] == "undecided" and rule.get("smallest_effect") is not None:
        parts.append(f"the smallest effect that so many can show is {rule['smallest_effect']:.3g}")
    return "; ".join(parts)


def _estimate(rule: Mapping[str, Any]) -> str:
    if rule.get("estimate") is None:
        return "no estimate"
    ends = (rule.get("lower"), rule.get("upper"))
    return f"{rule['estimate']:.3g} [{', '.join('open' if end is None else f'{end:.3g}' for end in ends)}]"


def _regression_line(one: Mapping[str, Any]) -> str:
    return "; ".join(f"{name} {_shorten(value)}" for name, value in one.items() if value is not None)


def _shorten(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
