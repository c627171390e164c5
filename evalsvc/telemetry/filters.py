"""The fields by which logs and spans are searched, and the database condition for each operation on them."""

from __future__ import annotations

from functools import partial

from django.db.models import Q

from evalsvc.rest.bodies.filters import NESTED, FilterFields, FilterTree, column_condition

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
    "conversation_id": ("conversation_id", "text"),
}


def telemetry_condition(filters: object, fields: FilterFields) -> Q:
    """Return the condition that a row meets all filters. Raises Invalid with a pointer."""
    return FilterTree(partial(column_condition, fields, "op"), MEMBERS).all_of(filters if filters is not None else [])
