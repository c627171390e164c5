"""What a check found, and what a type of check is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from evaluators.base import JSONValue, Sample, Settings, SettingsProblem, Span

MAX_SPANS = 100
"""So many places of one check are shown; an output can match at every character."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict of one check: a value from 0 to 1, whether it passes, half a sentence why, and details for `extra`.

    `because` has neither a capital at its start nor a full stop. `spans` are offsets into the output.
    """

    value: float
    passed: bool
    because: str
    detail: Mapping[str, JSONValue] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()


def verdict(passed: bool, because: str, *, spans: tuple[Span, ...] = (), **detail: JSONValue) -> Outcome:
    """Make the outcome of a check that either passes or fails."""
    return Outcome(float(passed), passed, because, detail, spans[:MAX_SPANS])


@dataclass(frozen=True, slots=True)
class CheckKind:
    """One type of check: the schema of its settings, further validation, and the implementation."""

    schema: Mapping[str, JSONValue]
    problems: Callable[[Settings, str], Iterator[SettingsProblem]]
    run: Callable[[Settings, Sample], Outcome]
