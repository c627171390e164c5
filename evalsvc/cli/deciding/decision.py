"""A gate's decision as the service answered it, in lines for a person."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsvc.digits import digits_text

EXIT_STATUS = {"pass": 0, "fail": 1, "undecided": 2}
TROUBLE = 3
"""Exit status when nothing was decided: the service was not reached, or a rule cannot be asked."""
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
        covers = str(self.raw["covers"]).replace("_", " ")
        yield f"{self.raw['summary']} (gate {self.id}, level {self.raw['level']:g}, {covers})"
        for rule in self.rules:
            yield f"  {rule['outcome']:<10} {rule_line(rule)}"
        regressions = self.raw["regressions"]
        if regressions:
            yield f"Worse than the baseline, the worst first ({min(len(regressions), MOST_REGRESSIONS)} shown):"
        for regression in regressions[:MOST_REGRESSIONS]:
            yield f"  {_regression_line(regression)}"
        if self.raw["warnings"]:
            yield f"Warnings: {', '.join(self.raw['warnings'])}"


def rule_line(rule: Mapping[str, Any]) -> str:
    """Return a rule, its outcome in the service's words, and the counts behind it."""
    quantile = f" p{rule['quantile'] * 100:g}" if rule["quantile"] is not None else ""
    parts = [f"{rule['metric']}{quantile} {rule['kind'].replace('_', ' ')} {rule['limit']:g}: {rule['says']}"]
    if rule["n_improved"] is not None:
        parts.append(
            f"{rule['n_improved']} improved, {rule['n_regressed']} regressed, {rule['n_unchanged']} unchanged."
        )
    if rule["outcome"] == "undecided" and rule["smallest_effect"] is not None:
        parts.append(f"So many can show an effect of {digits_text(rule['smallest_effect'], 3)}.")
    return " ".join(parts)


def _regression_line(one: Mapping[str, Any]) -> str:
    sides = (("before", one["baseline"]), ("now", one["candidate"]))
    outputs = "; ".join(f"{word} {_shorten(side['output'] or side['error_code'])}" for word, side in sides)
    return f"{one['metric']} of {one['example_id']}: {_shorten(one['input'])}; {outputs}"


def _shorten(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
