"""How evaluators are named in calls of the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Evaluators: TypeAlias = "str | Mapping[str, object] | Sequence[str | Mapping[str, object]]"
"""Names or entries of the wire; a lone one is a list of one."""


def split_evaluator(text: str) -> tuple[str, str | None]:
    """Split `evaluator` or `evaluator/profile`; the profile's own slashes stay in it."""
    evaluator, _, profile = text.partition("/")
    return evaluator, profile or None


def build_evaluator_entry(wanted: str | Mapping[str, object]) -> dict[str, object]:
    """Return an entry of the wire's `evaluators`."""
    if not isinstance(wanted, str):
        return dict(wanted)
    evaluator, profile = split_evaluator(wanted)
    return {"evaluator": evaluator} if profile is None else {"evaluator": evaluator, "criteria": profile}


def normalise_evaluators(evaluators: Evaluators) -> Sequence[str | Mapping[str, object]]:
    """Return a list of evaluators. A single name or entry becomes a list of one."""
    return [evaluators] if isinstance(evaluators, str | Mapping) else evaluators


def evaluator_label(entry: Mapping[str, object]) -> str:
    """Return the name of an entry, or what it is known by without one: `evaluator/criteria`."""
    return str(entry.get("name") or "/".join(str(entry[key]) for key in ("evaluator", "criteria") if entry.get(key)))
