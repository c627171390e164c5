"""For each column of an evaluation a value that no other column has, and rows and verdicts made of them."""

from __future__ import annotations

import uuid
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from django.db import models

from evalsvc.evaluations.database.columns import ACCEPTED, VERDICT
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.verdicts import Verdict, verdict_columns

FIELDS: dict[Any, Any] = {field.column: field for field in Evaluation._meta.concrete_fields}
ERRORS, OF_SUCCESS = ("error_code", "error_message"), ("score", "passed")
# What the database takes in few words only, as (one value, another).
FIXED: dict[str, tuple[Any, Any]] = {
    "position": (0, 0),
    "status": ("success", "success"),
    "lane": ("cpu", "inline"),
    "captured": (True, True),
    "in_history": (False, False),
    "feedback": ("positive", "negative"),
    "evaluation_type": ("client_evaluation", "annotation"),
    "explain_strategy": ("always", "never"),
    "spans": ([[0, 1]], [[1, 2]]),
}


def value_of(column: str, n: int) -> Any:
    """Return one of two values that no other column has, as far as the column's type allows."""
    if column in FIXED:
        return FIXED[column][n]
    field = FIELDS[column]
    number = sorted(FIELDS).index(column) * 2 + n + 1
    if isinstance(field, models.BooleanField):
        return bool(n)
    if isinstance(field, models.FloatField):
        return number + 0.5
    if isinstance(field, models.IntegerField):
        return number
    if isinstance(field, models.UUIDField):
        return uuid.UUID(int=number)
    if isinstance(field, models.DateTimeField):
        return datetime(2026, 11, number % 28 + 1, tzinfo=UTC)
    if isinstance(field, models.JSONField):
        return {"metadata": {column: number}}
    assert isinstance(field, models.CharField | models.TextField), f"value_of knows no {type(field).__name__}"
    return f"{column} {number}"[: field.max_length]


def check_verdict() -> None:
    """Without this nothing else here can be asked."""
    assert tuple(field.name for field in fields(Verdict)) == VERDICT, (
        "A column that scoring decides is a field of Verdict in evalsvc/evaluations/verdicts.py, in the model's order."
        " One that something else decides has its place in a group of evalsvc/evaluations/database/columns.py."
    )


def verdict_of(*, is_error: bool, n: int = 0) -> Verdict:
    """Return a verdict that says something in each column that one of its status may have."""
    check_verdict()
    left_out = OF_SUCCESS if is_error else ERRORS
    said: dict[str, Any] = {name: None if name in left_out else value_of(name, n) for name in VERDICT}
    return Verdict(**said | {"status": "error" if is_error else "success"})


def row_of(verdict: Verdict, n: int = 0) -> dict[str, Any]:
    """Return every column that a call decides, with a value of its own."""
    asked = {name: value_of(name, n) for name in ACCEPTED if name not in VERDICT}
    return asked | verdict_columns(verdict)


def stored(id: int) -> dict[str, Any]:
    return dict(Evaluation.objects.using("system").values().get(id=id))


def check_same(found: dict[str, Any], wanted: dict[str, Any], where: str) -> None:
    lost = {name: (value, found.get(name)) for name, value in wanted.items() if found.get(name) != value}
    assert lost == {}, f"lost or changed (written, read): {lost}. See {where}"
