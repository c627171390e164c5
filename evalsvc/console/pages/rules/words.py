"""What pages say of a rule."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from evalsvc.console.parts.marks import one_line
from evalsvc.digits import percent_text
from evalsvc.rules.models import Rule, RuleSpan
from evalsvc.rules.scorer import COUNTERS

REASONS = {
    RuleSpan.Reason.OVER_CAP: "over the cap per hour",
    RuleSpan.Reason.BUDGET: "over the budget per day",
    RuleSpan.Reason.NO_OUTPUT: "without an output",
    RuleSpan.Reason.UNREADABLE: "unreadable messages",
    RuleSpan.Reason.INVALID: "refused as an evaluation",
}
FILTER_WORDS = {
    "service_name": "service",
    "span_name": "span",
    "app": "app",
    "kind": "kind",
    "model": "model",
    "status": "status",
    "text": "text contains",
    "evaluator": "evaluator",
    "criteria": "profile",
    "verdict": "verdict",
}
MAX_VALUE = 80


def describe_filter(wanted: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the conditions of a filter with their values; empty where everything matches."""
    pairs = [(words, wanted[name]) for name, words in FILTER_WORDS.items() if name in wanted]
    pairs += [(f"attribute {name}", value) for name, value in (wanted.get("attributes") or {}).items()]
    pairs += [(f"tag {name}", value) for name, value in (wanted.get("tags") or {}).items()]
    return [(one_line(words, MAX_VALUE), one_line(_format_value(value), MAX_VALUE)) for words, value in pairs]


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return " or ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


def summarize_filter(wanted: Mapping[str, Any], source: str) -> str:
    """Return a filter in one line."""
    return "; ".join(f"{words} {value}" for words, value in describe_filter(wanted)) or f"every {source[:-1]}"


def format_entry(entry: Mapping[str, Any]) -> str:
    """Return an evaluator with its profile, as a line of the form has it."""
    evaluator = entry.get("evaluator") or entry.get("evaluator_id") or ""
    profile = entry.get("criteria") or entry.get("profile_name")
    if profile is None and entry.get("profile_inline") is not None:
        profile = "inline profile"
    return f"{evaluator}/{profile}" if profile else str(evaluator)


def format_entries(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the evaluators of a rule."""
    return [format_entry(entry) for entry in entries]


def describe_share(rule: Rule) -> str:
    """Return which share of the spans or evaluations is scored."""
    share = f"{percent_text(rule.rate)} of the {rule.sample_by}s" if rule.rate < 1 else f"all {rule.sample_by}s"
    parts = [
        f"{percent_text(part['rate'])} with {summarize_filter(part['filter'], rule.source)}"
        for part in rule.strata or ()
    ]
    share = ", ".join([*parts, f"{share} else" if parts else share])
    share = f"{share}, at most {rule.cap_per_hour} an hour" if rule.cap_per_hour else share
    return (
        share if rule.budget_per_day is None else f"{share}, at most {rule.budget_per_day.normalize():f} of money a day"
    )


def count_dropped(rule: Rule) -> list[tuple[str, int]]:
    """Return how many were dropped, by the reason in words; without reasons that never happened."""
    counts = [(REASONS[reason], getattr(rule, column)) for reason, column in COUNTERS.items()]
    return [(words, n) for words, n in counts if n]
