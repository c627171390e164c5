"""OTLP/JSON as types: the fields that we read, named as the protobuf messages name them, so one reader reads both.

Where the encodings differ (ids are hexadecimal, 64-bit integers are texts) the reader takes either.
"""

from __future__ import annotations

from typing import Any

import msgspec

Whole = int | str | None


class Message(msgspec.Struct, rename="camel"):
    """A message; fields that we do not read are skipped."""


class AnyValue(Message):
    """A value of one of these kinds, or none."""

    string_value: str | None = None
    bool_value: bool | None = None
    int_value: Whole = None
    double_value: float | str | None = None
    array_value: ArrayValue | None = None
    kvlist_value: KeyValueList | None = None
    bytes_value: str | None = None

    def WhichOneof(self, group: str) -> str | None:
        """Return the name of the field that holds the value, as protobuf messages do."""
        return next((name for name in self.__struct_fields__ if getattr(self, name) is not None), None)


class ArrayValue(Message):
    """A list."""

    values: list[AnyValue] | None = None


class KeyValue(Message):
    """An attribute."""

    key: str = ""
    value: AnyValue = msgspec.field(default_factory=AnyValue)


class KeyValueList(Message):
    """A mapping."""

    values: list[KeyValue] | None = None


class Resource(Message):
    """Who sends."""

    attributes: list[KeyValue] | None = None


class Scope(Message):
    """Which library of the sender made the items."""

    name: str | None = None
    version: str | None = None
    attributes: list[KeyValue] | None = None


class Status(Message):
    """How an operation ended."""

    code: int = 0
    message: str | None = None


class Event(Message):
    """Something that happened during an operation."""

    time_unix_nano: Whole = None
    name: str | None = None
    attributes: list[KeyValue] | None = None


class Link(Message):
    """Another operation that has to do with this one."""

    trace_id: Any = None
    span_id: Any = None
    attributes: list[KeyValue] | None = None


class Span(Message):
    """An operation."""

    trace_id: Any = None
    span_id: Any = None
    parent_span_id: Any = None
    trace_state: str | None = None
    name: str | None = None
    kind: int = 0
    start_time_unix_nano: Whole = None
    end_time_unix_nano: Whole = None
    attributes: list[KeyValue] | None = None
    events: list[Event] | None = None
    links: list[Link] | None = None
    status: Status = msgspec.field(default_factory=Status)


class LogRecord(Message):
    """A line of a log."""

    time_unix_nano: Whole = None
    observed_time_unix_nano: Whole = None
    severity_number: int = 0
    severity_text: str | None = None
    body: AnyValue = msgspec.field(default_factory=AnyValue)
    attributes: list[KeyValue] | None = None
    flags: int = 0
    trace_id: Any = None
    span_id: Any = None


class ScopeSpans(Message):
    """The operations of one library."""

    scope: Scope = msgspec.field(default_factory=Scope)
    spans: list[Span] | None = None


class ResourceSpans(Message):
    """The operations of one sender."""

    resource: Resource = msgspec.field(default_factory=Resource)
    scope_spans: list[ScopeSpans] | None = None


class TracesRequest(Message):
    """The body of POST /v1/traces."""

    resource_spans: list[ResourceSpans] | None = None


class ScopeLogs(Message):
    """The lines of one library."""

    scope: Scope = msgspec.field(default_factory=Scope)
    log_records: list[LogRecord] | None = None


class ResourceLogs(Message):
    """The lines of one sender."""

    resource: Resource = msgspec.field(default_factory=Resource)
    scope_logs: list[ScopeLogs] | None = None


class LogsRequest(Message):
    """The body of POST /v1/logs."""

    resource_logs: list[ResourceLogs] | None = None
