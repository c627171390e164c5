"""Examples in the cells of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsvc.reports.words import format_value

LONGEST = 300


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """One example, each part cut."""

    key: str
    input: str
    expected: str
    contexts: str
    metadata: str


def build_row(
    key: str, sent: Any, expected: Any, contexts: Sequence[Any] | None, metadata: Mapping[str, Any]
) -> ExampleRow:
    """Return an example for a table."""
    about = ", ".join(f"{name}: {shortened_cell(format_value(value), 60)}" for name, value in metadata.items())
    n = len(contexts or ())
    context_count = f"{n} context{'' if n == 1 else 's'}" if n else "—"
    return ExampleRow(
        key,
        shortened_cell(format_value(sent)),
        shortened_cell(format_value(expected)),
        context_count,
        shortened_cell(about),
    )


def shortened_cell(text: str, longest: int = LONGEST) -> str:
    """Return the beginning of a text that is too long for a cell."""
    return text if len(text) <= longest else f"{text[:longest]}…"
