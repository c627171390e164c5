"""The fields by which logs and spans are searched, and the database condition for each operation on them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

from django.db.models import Q

from evalsvc.rest.bodies.filters import (
    NESTED,
    ORDER_LOOKUPS,
    TEXT_LOOKUPS,
    FilterTree,
    find_operation,
    list_of_values,
    read_value,
)
from evalsvc.rest.problems import FieldError, Invalid

TelemetryFields: TypeAlias = Mapping[str, tuple[str, str]]
"""Maps the field's name in the API to its column and the kind of its values."""
LOOKUPS = {"eq": "exact", "ne": "exact", **ORDER_LOOKUPS, **TEXT_LOOKUPS, "in": "in"}
MEMBERS = ("field", "op", "value", *NESTED)
SHARED = {
    "trace_id": ("trace_id", "text"),
    "span_id": ("span_id", "text"),
    "service_name": ("service_name", "text"),
    "scope_name": ("scope_name", "text"),
    "project_name": ("project_name", "text"),
    "app": ("app", "text"),
    "experiment_id": ("experiment_id", "integer"),
}
LOG_FIELDS = SHARED | {
    "timestamp": ("occurred_at", "time"),
    "log_id": ("log_id", "text"),
    "severity_number": ("severity_number", "integer"),
    "severity_text": ("severity_text", "text"),
}
SPAN_FIELDS = SHARED | {
    "timestamp": ("started_at", "time"),
    "parent_span_id": ("parent_span_id", "text"),
    "span_name": ("name", "text"),
    "status_message": ("status_message", "text"),
}


def telemetry_condition(filters: object, fields: TelemetryFields) -> Q:
    """Return the condition that a row meets all filters. Raises Invalid with a pointer."""
    return FilterTree(partial(_field_condition, fields), MEMBERS).all_of(filters if filters is not None else [])


def _field_condition(fields: TelemetryFields, part: Mapping[str, object], pointer: str) -> Q:
    field = fields.get(str(part["field"]))
    if field is None:
        raise Invalid(FieldError(f"{pointer}/field", f"Not searchable; known are: {', '.join(fields)}."))
    column, kind = field
    known = [operation for operation in LOOKUPS if kind == "text" or operation not in TEXT_LOOKUPS]
    operation = find_operation(part, "op", known, pointer)
    value, at = part.get("value"), f"{pointer}/value"
    if value is None and operation in ("eq", "ne"):
        return Q(**{f"{column}__isnull": operation == "eq"})
    if operation == "in":
        return Q(
            **{f"{column}__in": [read_value(kind, one, f"{at}/{i}") for i, one in enumerate(list_of_values(value, at))]}
        )
    found = Q(**{f"{column}__{LOOKUPS[operation]}": read_value(kind, value, at)})
    # Django's negation includes rows where the column is NULL: they differ from the value, too.
    return ~found if operation == "ne" else found
