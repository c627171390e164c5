"""Fields of filters and forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from django.http import HttpRequest
from rest_framework.exceptions import ValidationError

from evalsvc.rest.problems import Invalid, Problem, field_errors

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


def populate_fields(
    fields: Sequence[FormField], values: Mapping[str, str], errors: Mapping[str, str] | None = None
) -> list[FormField]:
    """Return the fields with what was sent, and what was wrong with it."""
    field_errors = errors or {}
    return [
        replace(field, value=values.get(field.name, field.value), error=field_errors.get(field.name, ""))
        for field in fields
    ]


def read_fields(request: HttpRequest) -> dict[str, str]:
    """Return what a form has sent: of each field the last value."""
    return {name: value for name, value in request.POST.items() if isinstance(value, str)}


def first_part(pointer: str) -> str:
    """Return the field that a pointer of the API is about, where the form names it as the body does."""
    return pointer.strip("/").partition("/")[0]


def search_refusal(problem: Problem) -> str:
    """Return the message for a search that was refused for its filters or its cost; raise any other problem."""
    if problem.code != "search_too_slow" and not isinstance(problem, Invalid):
        raise problem
    return f"{problem.detail} {problem.row.remedy}"


def errors_at(exc: Problem | ValidationError, field_of: Callable[[str], str] = first_part) -> dict[str, str]:
    """Return what was refused by its field, the first word on each; under "" what is about the form as a whole."""
    problem = exc if isinstance(exc, Problem) else Invalid(*field_errors(exc.detail))
    by_field: dict[str, str] = {}
    for error in problem.errors:
        by_field.setdefault(field_of(error.pointer), error.detail)
    return by_field or {"": problem.detail}
