"""Spans and logs in the shapes of answers. Names are those of Patronus' client."""

from __future__ import annotations

from typing import Annotated, TypeAlias, TypeVar

import msgspec

from evalsvc.rest.answering.renderers import dumps
from evalsvc.rest.answering.shapes import AnswerShape, AnswerWithWarnings, Json, Moment, build_enum, build_shape
from evalsvc.telemetry.models import LogRecord, Span

KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
STATUSES = ("UNSET", "OK", "ERROR")
Attributes: TypeAlias = dict[str, Json]


class SharedOut(AnswerShape, kw_only=True):
    """What spans and logs share, behind what is their own."""

    service_name: str | None
    project_name: str | None
    app: str | None
    experiment_id: int | None
    experiment_id_str: str | None
    resource_attributes: Attributes
    scope_name: str | None
    scope_version: str | None
    scope_attributes: Attributes
    created_at: Moment


class SpanOut(SharedOut):
    """One operation of a trace."""

    trace_id: str
    span_id: str
    parent_span_id: str | None
    trace_state: str | None
    span_name: str
    span_kind: Annotated[str, build_enum(f"SPAN_KIND_{kind}" for kind in KINDS)]
    timestamp: Moment
    duration: Annotated[str, msgspec.Meta(description="ISO 8601, for example PT0.216S.")]
    status_code: Annotated[str, build_enum(f"STATUS_CODE_{status}" for status in STATUSES)]
    status_message: str | None
    conversation_id: str | None
    span_attributes: Attributes
    events: list[dict[str, Json]]
    links: list[dict[str, Json]]


class LogOut(SharedOut):
    """One line of a log."""

    log_id: str | None
    trace_id: str | None
    span_id: str | None
    trace_flags: int
    timestamp: Moment
    observed_timestamp: Moment | None
    severity_number: int | None
    severity_text: str | None
    body: Json
    log_attributes: Attributes


class TraceAnswer(AnswerShape):
    """A page of a trace: its spans by their start, and its logs by their time."""

    trace_id: str
    spans: list[SpanOut]
    logs: list[LogOut]
    next_offset: Annotated[int | None, msgspec.Meta(description="The `offset` of the next page; null on the last.")]


class LogEnvelope(AnswerShape):
    """One log."""

    log: LogOut


class LogList(AnswerWithWarnings):
    """Logs that were found."""

    logs: list[LogOut]


class SpanList(AnswerWithWarnings):
    """Spans that were found."""

    spans: list[SpanOut]


class DeletedTraces(AnswerShape):
    """How far a deletion has come."""

    n_spans: int
    n_logs: int
    done: bool


Shared = TypeVar("Shared", bound=SharedOut)


def duration_of_nanoseconds(nanoseconds: int) -> str:
    """Write a duration as ISO 8601 seconds, to the nanosecond."""
    seconds, remainder = divmod(nanoseconds, 1_000_000_000)
    return f"PT{seconds}.{remainder:09d}".rstrip("0").rstrip(".") + "S"


def get_shared_facts(row: Span | LogRecord) -> dict[str, object]:
    """Return what spans and logs share, where its name is not that of the column."""
    text = None if row.experiment_id is None else str(row.experiment_id)
    return {"experiment_id_str": text, "resource_attributes": row.resource}


def attributes_as_text(record: Shared) -> Shared:
    """Return a span or log with the values of its attributes as texts; what is none is written as JSON."""
    names = [name for name in record.__struct_fields__ if name.endswith("_attributes")]
    return msgspec.structs.replace(record, **{name: _to_text(getattr(record, name)) for name in names})


def _to_text(attributes: Attributes) -> dict[str, str]:
    return {
        key: attribute if isinstance(attribute, str) else dumps(attribute).decode()
        for key, attribute in attributes.items()
    }


def span_out(row: Span) -> SpanOut:
    """Return a span."""
    return build_shape(
        row,
        SpanOut,
        span_name=row.name,
        span_kind=f"SPAN_KIND_{KINDS[row.kind]}",
        timestamp=row.started_at,
        duration=duration_of_nanoseconds(row.duration_ns),
        status_code=f"STATUS_CODE_{STATUSES[row.status_code]}",
        span_attributes=row.attributes,
        **get_shared_facts(row),
    )


def log_out(row: LogRecord) -> LogOut:
    """Return a log."""
    return build_shape(
        row,
        LogOut,
        timestamp=row.occurred_at,
        observed_timestamp=row.observed_at,
        log_attributes=row.attributes,
        **get_shared_facts(row),
    )
