"""Spans and logs in the shapes of answers. Names are those of Patronus' client."""

from __future__ import annotations

from typing import Any

from evalsvc.rest.answering.rendering import dumps
from evalsvc.telemetry.models import LogRecord, Span

KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
STATUSES = ("UNSET", "OK", "ERROR")


def duration_of_nanoseconds(nanoseconds: int) -> str:
    """Write a duration as ISO 8601 seconds, to the nanosecond."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"PT{seconds}.{rest:09d}".rstrip("0").rstrip(".") + "S"


def shared_out(row: Span | LogRecord) -> dict[str, object]:
    """Return what spans and logs share."""
    return {
        "service_name": row.service_name,
        "project_name": row.project_name,
        "app": row.app,
        "experiment_id": row.experiment_id,
        "experiment_id_str": None if row.experiment_id is None else str(row.experiment_id),
        "resource_attributes": row.resource,
        "scope_name": row.scope_name,
        "scope_version": row.scope_version,
        "scope_attributes": row.scope_attributes,
        "created_at": row.created_at,
    }


def attributes_as_text(out: dict[str, Any]) -> dict[str, Any]:
    """Return a span or log with the values of its attributes as texts; what is none is written as JSON."""
    return {
        name: {key: one if isinstance(one, str) else dumps(one).decode() for key, one in value.items()}
        if name.endswith("_attributes")
        else value
        for name, value in out.items()
    }


def span_out(row: Span) -> dict[str, Any]:
    """Return a span."""
    return {
        "trace_id": row.trace_id,
        "span_id": row.span_id,
        "parent_span_id": row.parent_span_id,
        "trace_state": row.trace_state,
        "span_name": row.name,
        "span_kind": f"SPAN_KIND_{KINDS[row.kind]}",
        "timestamp": row.started_at,
        "duration": duration_of_nanoseconds(row.duration_ns),
        "status_code": f"STATUS_CODE_{STATUSES[row.status_code]}",
        "status_message": row.status_message,
        "span_attributes": row.attributes,
        "events": row.events,
        "links": row.links,
        **shared_out(row),
    }


def log_out(row: LogRecord) -> dict[str, Any]:
    """Return a log."""
    return {
        "log_id": row.log_id,
        "trace_id": row.trace_id,
        "span_id": row.span_id,
        "trace_flags": row.trace_flags,
        "timestamp": row.occurred_at,
        "observed_timestamp": row.observed_at,
        "severity_number": row.severity_number,
        "severity_text": row.severity_text,
        "body": row.body,
        "log_attributes": row.attributes,
        **shared_out(row),
    }
