"""The filters of searches for logs and spans as a database condition: fields, operations, `and_` and `or_`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive, make_aware

from evalsvc.rest.problems import FieldError, Invalid

MAX_FILTERS = 100
MAX_DEPTH = 8
MAX_VALUES = 500
OPERATIONS = {
    "eq": "exact",
    "ne": "exact",
    "lt": "lt",
    "le": "lte",
    "gt": "gt",
    "ge": "gte",
    "starts_with": "startswith",
    "ends_with": "endswith",
    "in": "in",
}
TEXT_ONLY = ("starts_with", "ends_with")
SHARED = {
    "trace_id": ("trace_id", str),
    "span_id": ("span_id", str),
    "service_name": ("service_name", str),
    "scope_name": ("scope_name", str),
    "project_name": ("project_name", str),
    "app": ("app", str),
    "experiment_id": ("experiment_id", int),
}
LOG_FIELDS = SHARED | {
    "timestamp": ("occurred_at", datetime),
    "log_id": ("log_id", str),
    "severity_number": ("severity_number", int),
    "severity_text": ("severity_text", str),
}
SPAN_FIELDS = SHARED | {
    "timestamp": ("started_at", datetime),
    "parent_span_id": ("parent_span_id", str),
    "span_name": ("name", str),
    "status_message": ("status_message", str),
}


class Filters:
    """Reads the filters of one search; raises Invalid with a pointer to what cannot be read."""

    def __init__(self, fields: Mapping[str, tuple[str, type]]) -> None:
        self._fields, self._n = fields, 0

    def all_of(self, filters: Any, pointer: str = "/filters", depth: int = 0) -> Q:
        """Return the condition that every filter holds."""
        combined = Q()
        for one in self._each(filters, pointer, depth):
            combined &= one
        return combined

    def any_of(self, filters: Any, pointer: str, depth: int) -> Q:
        """Return the condition that some filter holds."""
        combined = Q()
        for one in self._each(filters, pointer, depth):
            combined |= one
        return combined

    def _each(self, filters: Any, pointer: str, depth: int) -> list[Q]:
        if not isinstance(filters, list):
            raise Invalid(FieldError(pointer, "Must be a list of filters."))
        return [self._one(part, f"{pointer}/{i}", depth) for i, part in enumerate(filters)]

    def _one(self, part: Any, pointer: str, depth: int) -> Q:
        self._n += 1
        if self._n > MAX_FILTERS or depth > MAX_DEPTH:
            raise Invalid(FieldError(pointer, f"At most {MAX_FILTERS} filters, {MAX_DEPTH} levels deep."))
        if not isinstance(part, dict) or (part.get("field") is None and not part.get("and_") and not part.get("or_")):
            raise Invalid(FieldError(pointer, "Name a `field`, or nest filters in `and_` or `or_`."))
        combined = self._leaf(part, pointer) if part.get("field") is not None else Q()
        for name, combine in (("and_", self.all_of), ("or_", self.any_of)):
            if part.get(name):
                combined &= combine(part[name], f"{pointer}/{name}", depth + 1)
        return combined

    def _leaf(self, part: Mapping[str, Any], pointer: str) -> Q:
        field = self._fields.get(str(part["field"]))
        if field is None:
            raise Invalid(FieldError(f"{pointer}/field", f"Not searchable; known are: {', '.join(self._fields)}."))
        column, kind = field
        op = part.get("op") or "eq"
        if not isinstance(op, str) or op not in OPERATIONS or (op in TEXT_ONLY and kind is not str):
            raise Invalid(FieldError(f"{pointer}/op", f"Not for this field; known are: {', '.join(OPERATIONS)}."))
        if part.get("value") is None and op in ("eq", "ne"):
            return Q(**{f"{column}__isnull": op == "eq"})
        value = values_of(kind, op, part.get("value"), f"{pointer}/value")
        found = Q(**{f"{column}__{OPERATIONS[op]}": value})
        return ~found if op == "ne" else found


def values_of(kind: type, op: str, value: Any, pointer: str) -> Any:
    """Return a value of the field's kind, or several for `in`."""
    if op != "in":
        return value_of(kind, value, pointer)
    if not isinstance(value, list) or len(value) > MAX_VALUES:
        raise Invalid(FieldError(pointer, f"`in` takes a list of at most {MAX_VALUES} values."))
    return [value_of(kind, item, f"{pointer}/{i}") for i, item in enumerate(value)]


def value_of(kind: type, value: Any, pointer: str) -> Any:
    """Return a value of the field's kind."""
    if kind is str and isinstance(value, str):
        return value
    if kind is int and whole_number(value) is not None:
        return whole_number(value)
    if kind is datetime and (moment := moment_of(value)):
        return moment
    names: Mapping[type, str] = {str: "a text", int: "an integer", datetime: "an ISO 8601 time"}
    raise Invalid(FieldError(pointer, f"Must be {names[kind]}."))


def whole_number(value: Any) -> int | None:
    """Return an integer that a column can hold, also where it came as digits; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and -(2**63) <= value < 2**63 else None


def moment_of(value: Any) -> datetime | None:
    """Return a time, in UTC where it names no offset; None for anything else."""
    try:
        moment = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return make_aware(moment) if moment and is_naive(moment) else moment


def condition(filters: Sequence[Any] | None, fields: Mapping[str, tuple[str, type]]) -> Q:
    """Return the condition that all filters hold."""
    return Filters(fields).all_of(filters if filters is not None else [])
