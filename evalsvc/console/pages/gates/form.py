"""The form of a gate about configs, and a decision as pages show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from evalsvc.accounts.models import Account
from evalsvc.console.access import PageRequest
from evalsvc.console.parts.forms.fields import FormField, errors_at, populate_fields
from evalsvc.console.parts.numbers import Number
from evalsvc.digits import level_text
from evalsvc.gates.answers import GateOut, RuleResult
from evalsvc.gates.bodies import GateBody
from evalsvc.gates.selectors import gate_out, get_gate
from evalsvc.gates.words import rule_name, rule_sentence
from evalsvc.rest.bodies.located import locate_error
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import FieldError, Invalid, NotFound, Problem

KINDS = {
    "not_worse_by": "the candidate is not worse than the baseline by more than the limit",
    "better_by": "the candidate is better than the baseline by more than the limit",
    "at_least": "the candidate's value is at least the limit",
    "at_most": "the candidate's value is at most the limit",
}
# In the words that a refusal names them by.
LOOKS = {"one": "fixed-sample: a single look, now", "watched": "anytime-valid: may be repeated at any time"}
# The field for an error, by the last part of its pointer that is a key here.
FIELDS = {name: name for name in ("limit", "level", "looks", "name", "benchmark")}
FIELDS |= {"rules": "kind", "metric": "rule_metric", "value_range": "value_range", **dict.fromkeys(KINDS, "limit")}
RANGE_HELP = "For means of metrics without a declared range, such as a cost: 0 to 5."
TONES = {"pass": "good", "fail": "bad", "undecided": "warn"}


@dataclass(frozen=True, slots=True)
class RuleDetail:
    """One rule of a gate: its condition and its result."""

    name: str
    says: str
    outcome: str
    tone: str
    number: Number
    counts: str


@dataclass(frozen=True, slots=True)
class GateDetail:
    """A decision with its evidence."""

    gate: GateOut
    tone: str
    rules: list[RuleDetail] = field(default_factory=list)

    @property
    def level(self) -> str:
        """The requested confidence level, in per cent."""
        return level_text(self.gate.level)

    @property
    def regressions_words(self) -> str:
        """How many regressions are listed: the worst of each metric, not all where there are many."""
        n_listed = len(self.gate.regressions)
        n_all = sum({rule.metric: rule.n_regressed or 0 for rule in self.gate.rules}.values())
        return f"{n_listed} of {n_all} regressions shown" if n_all > n_listed else f"{n_listed} regressions"


def load_gate(account: Account, text: str) -> GateDetail | None:
    """Return the gate that an address names; None without one."""
    if not text:
        return None
    if not is_bigint(text):
        raise NotFound
    gate = gate_out(account=account, gate=get_gate(account=account, id=int(text)))
    return GateDetail(gate, TONES[gate.outcome], [_rule(gate, rule) for rule in gate.rules])


def _rule(gate: GateOut, rule: RuleResult) -> RuleDetail:
    ends = [abs(end) for end in (rule.estimate, rule.lower, rule.upper, rule.limit) if end is not None]
    is_paired = rule.n_improved is not None
    size = max(ends, default=1.0) or 1.0
    number = Number(
        rule.estimate,
        rule.lower,
        rule.upper,
        n=rule.n,
        level=rule.interval_level,
        why_level=f"each end at {level_text(rule.level_of_ends)}",
        covers=gate.covers,
        method=rule.method,
        low=-size if is_paired else 0.0,
        high=size,
        limit=rule.limit,
        zero=is_paired,
    )
    counts = (
        f"{rule.n_improved} improved, {rule.n_regressed} regressed, {rule.n_unchanged} unchanged" if is_paired else ""
    )
    return RuleDetail(rule_name(rule), rule_sentence(rule), rule.outcome, TONES[rule.outcome], number, counts)


def gate_fields(
    metrics: list[str], metric: str, values: Mapping[str, str] | None = None, errors: Mapping[str, str] | None = None
) -> list[FormField]:
    """Return the form of a gate, with what was sent and what was wrong with it."""
    fields = [
        FormField("rule_metric", "Metric", "select", value=metric, options=[(name, name) for name in metrics]),
        FormField("kind", "Passes if", "select", value="not_worse_by", options=list(KINDS.items())),
        FormField("limit", "Limit", "number", value="0.05", is_required=True, help="In units of the metric."),
        FormField("value_range", "Range of the scores", help=RANGE_HELP),
        FormField("level", "Level", "number", value="0.95", help="At 0.95, at most 1 in 20 gates passes wrongly."),
        FormField("looks", "Looks", "select", value="one", options=list(LOOKS.items())),
        FormField("name", "Name", help="Shown in the list of gates (optional)."),
        FormField(
            "benchmark",
            "Benchmark",
            help="Set it if many candidates are tested on the same examples: the name of the series.",
        ),
    ]
    return populate_fields(fields, values or {}, errors)


def parse_gate_form(request: PageRequest) -> GateBody:
    """Read the form as the body of `POST /v1/gates`. Raises Invalid with the same pointers."""
    post = request.POST
    kind = post.get("kind", "")
    sides = {
        name: {"experiment_id": post.get(f"{name}_experiment", ""), "config": post.get(f"{name}_config", "")}
        for name in ("candidate", "baseline")
    }
    if kind in ("at_least", "at_most"):
        del sides["baseline"]
    body: dict[str, Any] = {
        **sides,
        "rules": [parse_rule(post, kind, post.get("rule_metric", ""))],
        "level": rule_limit(post.get("level") or "0.95", "/level"),
        "looks": post.get("looks", "one"),
        "name": post.get("name", "").strip() or None,
        "benchmark": post.get("benchmark", "").strip() or None,
    }
    return as_gate_body(body)


def parse_rule(post: Mapping[str, str], kind: str, metric: str) -> dict[str, Any]:
    """Read the rule of a form as one of the body. Raises Invalid."""
    rule: dict[str, Any] = {"metric": metric, kind: rule_limit(post.get("limit", ""), "/rules/0/limit")}
    text = post.get("value_range", "").strip()
    if text:
        pointer = "/rules/0/value_range"
        low, separator, high = text.partition(" to ")
        if not separator:
            raise Invalid(FieldError(pointer, "Enter two numbers: 0 to 5."))
        rule["value_range"] = [rule_limit(low, pointer), rule_limit(high, pointer)]
    return rule


def as_gate_body(sent: Mapping[str, Any]) -> GateBody:
    """Read what a form has sent as a body. Raises Invalid with the pointers of the API."""
    try:
        return msgspec.convert(sent, GateBody)
    except msgspec.ValidationError as exc:
        raise Invalid(locate_error(str(exc))) from None


def rule_limit(text: str, pointer: str) -> float:
    """Read a number of the form. Raises Invalid."""
    try:
        return float(text)
    except ValueError:
        raise Invalid(FieldError(pointer, "Enter a number.")) from None


def gate_errors(problem: Problem, of_subject: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the errors by field; `of_subject` maps pointers to the fields that define the gate's subject."""
    table = FIELDS | dict(of_subject or {})
    return errors_at(
        problem, lambda pointer: next((table[part] for part in reversed(pointer.split("/")) if part in table), "")
    )
