"""Fields of filters and forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal[
    "text", "number", "select", "datetime-local", "date", "checkbox", "textarea", "hidden", "email", "password", "file"
]


@dataclass(frozen=True, slots=True)
class FormField:
    """A labelled field: of a filter (its value comes from the address) or of a form (from what was sent)."""

    name: str
    label: str
    kind: Kind = "text"
    value: str = ""
    options: Sequence[tuple[str, str]] = ()
    """(value, words) of a select; for other kinds, suggestions."""
    help: str = ""
    error: str = ""
    is_required: bool = False
    rows: int = 6

    @property
    def is_chosen(self) -> bool:
        """Whether it narrows anything."""
        return bool(self.value)


def filled(
    fields: Sequence[FormField], values: Mapping[str, str], errors: Mapping[str, str] | None = None
) -> list[FormField]:
    """Return the fields with what was sent, and what was wrong with it."""
    found = errors or {}
    return [
        replace(field, value=values.get(field.name, field.value), error=found.get(field.name, "")) for field in fields
    ]
