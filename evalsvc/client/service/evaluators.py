"""How evaluators are named in calls of the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Evaluators: TypeAlias = "str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]"
"""Names or entries of the wire; a lone one is a list of one."""


def split_evaluator(text: str) -> tuple[str, str | None]:
    """Split `evaluator` or `evaluator/profile`; the profile's own slashes stay in it."""
    evaluator, _, profile = text.partition("/")
    return evaluator, profile or None


def build_evaluator_entry(wanted: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of the wire's `evaluators`."""
    if not isinstance(wanted, str):
        return dict(wanted)
    evaluator, profile = split_evaluator(wanted)
    return {"evaluator": evaluator} if profile is None else {"evaluator": evaluator, "criteria": profile}


def list_evaluators(evaluators: Evaluators) -> Sequence[str | Mapping[str, Any]]:
    """Return a list of evaluators; one that stands alone, by name or as an entry, is a list of one."""
    return [evaluators] if isinstance(evaluators, str | Mapping) else evaluators
