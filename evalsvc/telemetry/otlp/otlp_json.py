"""OTLP/JSON as types: the fields that the service reads, with the names of the protobuf fields.

One reader therefore handles both encodings. Where they differ (hexadecimal ids, 64-bit integers as strings), the reader
accepts either. The items of a list are decoded lazily: an item that cannot be decoded does not affect the others, and
most of a malicious body costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, overload

import msgspec

Whole = int | str | None
Unread = list[msgspec.Raw] | None
NOTHING = msgspec.Raw(b"{}")


class UnreadableMessage(ValueError):
    """A part of a request that cannot be read, and why."""


class Message(msgspec.Struct, rename="camel", gc=False):
    """A message; fields that we do not read are skipped. What is not read yet has an underscore at its end."""


@cache
def build_decoder(kind: type[Message]) -> msgspec.json.Decoder[Any]:
    """Return the decoder of a kind of message."""
    return msgspec.json.Decoder(kind)


def read_message(raw: msgspec.Raw, kind: type[Message]) -> Any:
    """Read a part; raise Unreadable for a value that is not of its field's type, or out of its range."""
    try:
        return build_decoder(kind).decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise UnreadableMessage(str(exc)) from None


class Parts(Sequence[Any]):
    """A list of messages, each read at every access."""

    def __init__(self, raw: Unread, kind: type[Message]) -> None:
        self._raw, self._kind = raw or [], kind

    def __len__(self) -> int:
        return len(self._raw)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> Parts: ...
    def __getitem__(self, place: int | slice) -> Any:
        """Read one, or take some of them."""
        if isinstance(place, slice):
            return Parts(self._raw[place], self._kind)
        return read_message(self._raw[place], self._kind)


def ignore_field(name: str) -> Any:
    """Make the field of a list that is read by its parts."""
    return msgspec.field(default=None, name=name)


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
        """Return the name of the field that is set, as protobuf messages do."""
        return next((name for name in self.__struct_fields__ if getattr(self, name) is not None), None)


class ArrayValue(Message):
    """A list."""

    values_: Unread = ignore_field("values")

    @property
    def values(self) -> Parts:
        """Return the values."""
        return Parts(self.values_, AnyValue)


class KeyValue(Message):
    """An attribute."""

    key: str = ""
    value: AnyValue = msgspec.field(default_factory=AnyValue)


class KeyValueList(Message):
    """A mapping."""

    values_: Unread = ignore_field("values")

    @property
    def values(self) -> Parts:
        """Return the entries."""
        return Parts(self.values_, KeyValue)


class AttributedMessage(Message):
    """A message with attributes."""

    attributes_: Unread = ignore_field("attributes")

    @property
    def attributes(self) -> Parts:
        """Return the attributes."""
        return Parts(self.attributes_, KeyValue)


class Resource(AttributedMessage):
    """Who sends."""


class Scope(AttributedMessage):
    """Which library of the sender made the items."""

    name: str | None = None
    version: str | None = None


class Status(Message):
    """How an operation ended."""

    code: int = 0
    message: str | None = None


class Event(AttributedMessage):
    """Something that happened during an operation."""

    time_unix_nano: Whole = None
    name: str | None = None


class Link(AttributedMessage):
    """Another operation that has to do with this one."""

    trace_id: Any = None
    span_id: Any = None


class OtlpSpan(AttributedMessage):
    """An operation."""

    trace_id: Any = None
    span_id: Any = None
    parent_span_id: Any = None
    trace_state: str | None = None
    name: str | None = None
    kind: int = 0
    start_time_unix_nano: Whole = None
    end_time_unix_nano: Whole = None
    events_: Unread = ignore_field("events")
    links_: Unread = ignore_field("links")
    status: Status = msgspec.field(default_factory=Status)

    @property
    def events(self) -> Parts:
        """Return what happened meanwhile."""
        return Parts(self.events_, Event)

    @property
    def links(self) -> Parts:
        """Return the links."""
        return Parts(self.links_, Link)


class OtlpLogRecord(AttributedMessage):
    """A line of a log."""

    time_unix_nano: Whole = None
    observed_time_unix_nano: Whole = None
    severity_number: int = 0
    severity_text: str | None = None
    body: AnyValue = msgspec.field(default_factory=AnyValue)
    flags: int = 0
    trace_id: Any = None
    span_id: Any = None
    event_name: str | None = None


class OfLibrary(Message):
    """What one library sends."""

    scope_: msgspec.Raw = msgspec.field(default=NOTHING, name="scope")

    @property
    def scope(self) -> Scope:
        """Return which library it is."""
        scope: Scope = read_message(self.scope_, Scope)
        return scope


class OfSender(Message):
    """What one sender sends."""

    resource_: msgspec.Raw = msgspec.field(default=NOTHING, name="resource")

    @property
    def resource(self) -> Resource:
        """Return who it is."""
        resource: Resource = read_message(self.resource_, Resource)
        return resource


class ScopeSpans(OfLibrary):
    """The operations of one library."""

    spans_: Unread = ignore_field("spans")

    @property
    def spans(self) -> Parts:
        """Return the operations."""
        return Parts(self.spans_, OtlpSpan)


class ResourceSpans(OfSender):
    """The operations of one sender."""

    scope_spans_: Unread = ignore_field("scopeSpans")

    @property
    def scope_spans(self) -> Parts:
        """Return what each library sends."""
        return Parts(self.scope_spans_, ScopeSpans)


class TracesRequest(Message):
    """The body of POST /v1/traces."""

    resource_spans_: Unread = ignore_field("resourceSpans")

    @property
    def resource_spans(self) -> Parts:
        """Return what each sender sends."""
        return Parts(self.resource_spans_, ResourceSpans)


class ScopeLogs(OfLibrary):
    """The lines of one library."""

    log_records_: Unread = ignore_field("logRecords")

    @property
    def log_records(self) -> Parts:
        """Return the lines."""
        return Parts(self.log_records_, OtlpLogRecord)


class ResourceLogs(OfSender):
    """The lines of one sender."""

    scope_logs_: Unread = ignore_field("scopeLogs")

    @property
    def scope_logs(self) -> Parts:
        """Return what each library sends."""
        return Parts(self.scope_logs_, ScopeLogs)


class LogsRequest(Message):
    """The body of POST /v1/logs."""

    resource_logs_: Unread = ignore_field("resourceLogs")

    @property
    def resource_logs(self) -> Parts:
        """Return what each sender sends."""
        return Parts(self.resource_logs_, ResourceLogs)
