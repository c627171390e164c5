"""Errors that have an answer, without the framework that writes it: a reader of files raises them in any process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalsvc.codes import PROBLEMS


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one field, by JSON pointer."""

    pointer: str
    detail: str


class Problem(Exception):
    """An error that has an answer. Raise it anywhere below the HTTP edge; `code` is a row of codes.py."""

    code = "internal_error"

    def __init__(
        self,
        detail: str = "",
        *,
        code: str | None = None,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.code = code or self.code
        self.row = PROBLEMS[self.code]
        self.detail = detail or f"{self.row.title}."
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        super().__init__(self.detail)


class NotFound(Problem):
    """Missing and foreign alike: the answers are the same to the byte."""

    code = "not_found"


class Invalid(Problem):
    """Fields that cannot be accepted; nothing was stored."""

    code = "validation_failed"

    def __init__(self, *errors: FieldError, code: str | None = None) -> None:
        super().__init__("; ".join(error.detail for error in errors[:3]), code=code, errors=errors)


def escape(name: str) -> str:
    """Escape a name for use in a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")
