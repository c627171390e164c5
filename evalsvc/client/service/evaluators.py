"""How evaluators are named in calls of the service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

Evaluator: TypeAlias = "str | Mapping[str, object] | Callable[..., object]"
"""A name, an entry of the wire, or a function of the caller's own, which `eval` and `experiment` take only."""
Evaluators: TypeAlias = "Evaluator | Sequence[Evaluator]"
"""A lone one is a list of one."""


def split_evaluator(text: str) -> tuple[str, str | None]:
    """Split `evaluator` or `evaluator/profile`; the profile's own slashes stay in it."""
    evaluator, _, profile = text.partition("/")
    return evaluator, profile or None


def build_evaluator_entry(wanted: Evaluator) -> dict[str, object]:
    """Return an entry of the wire's `evaluators`. Raises TypeError for a function, which the service cannot run."""
    if isinstance(wanted, Mapping):
        return dict(wanted)
    if not isinstance(wanted, str):
        name = getattr(wanted, "__name__", type(wanted).__name__)
        raise TypeError(f"The service cannot run the function {name!r}: only `eval` and `experiment` take functions.")
    evaluator, profile = split_evaluator(wanted)
    return {"evaluator": evaluator} if profile is None else {"evaluator": evaluator, "criteria": profile}


def normalise_evaluators(evaluators: Evaluators) -> Sequence[Evaluator]:
    """Return a list of evaluators. A single name, entry or function becomes a list of one."""
    return list(evaluators) if isinstance(evaluators, Sequence) and not isinstance(evaluators, str) else [evaluators]


def evaluator_label(entry: Mapping[str, object]) -> str:
    """Return the name of an entry, or what it is known by without one: `evaluator/criteria`."""
    return str(entry.get("name") or "/".join(str(entry[key]) for key in ("evaluator", "criteria") if entry.get(key)))
