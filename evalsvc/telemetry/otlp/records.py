"""Conversion of export requests to rows; an invalid item is rejected and counted, and the others are stored."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.conf import settings

from evalsvc.rest.bodies.names import bare_name, normalize_app_name
from evalsvc.rest.problems import Problem
from evalsvc.telemetry.otlp.messages import find_conversation_id
from evalsvc.telemetry.otlp.otlp_json import UnreadableMessage
from evalsvc.telemetry.otlp.values import ValueReader, column_text, hex_id, moment, to_int

MAX_ITEMS = 10_000  # spans or logs of one request
MAX_SENDERS = 2 * MAX_ITEMS  # senders and libraries of one request: a sender with one library for each item
MAX_PARTS = 128  # events or links of one span
# The resource is stored with each of its items, so a small request could otherwise become a large amount of data.
STORED_FACTOR = 2
NO_IDS = "a span needs a trace_id of 16 bytes and a span_id of 8, neither of them zero"
TOO_MANY = f"a request holds at most {MAX_ITEMS} items"
TOO_SCATTERED = f"A request holds at most {MAX_SENDERS} senders and libraries together, empty ones included."
TOO_LARGE = "the items of a request are stored with their resources, and are too large together"
BIGINT = 2**63


@dataclass
class RecordBatch:
    """The rows of one request, each as JSON, and how many items were rejected for which reason.

    `warnings` are about items that are stored.
    """

    rows: list[bytes] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    n_bytes: int = 0

    def add(self, row: dict[str, Any] | str) -> None:
        """Add a row, or count a rejection if given the reason as a string."""
        if isinstance(row, dict):
            data = orjson.dumps(row)
            if self.has_room(len(data)):
                self.n_bytes += len(data)
                self.rows.append(data[:-1] + b',"n_bytes":%d}' % len(data))
                return
            row = TOO_LARGE
        self.reject(row)

    def reject(self, reason: str, n: int = 1) -> None:
        """Count items that are rejected."""
        if n > 0:
            self.rejected[reason] += n

    def has_room(self, n_bytes: int) -> bool:
        """Return whether there is room for a row of this size in bytes."""
        return self.n_bytes + n_bytes <= STORED_FACTOR * settings.TELEMETRY_MAX_BYTES

    @property
    def n_rejected(self) -> int:
        """Return the number of rejected items."""
        return self.rejected.total()

    @property
    def message(self) -> str:
        """Return why items were rejected and what is wrong with others, in one sentence for each reason; or nothing."""
        rejections = [f"{n} rejected: {reason}" for reason, n in self.rejected.items()]
        return "; ".join([*rejections, *(f"{n} {warning}" for warning, n in self.warnings.items())])


@dataclass(frozen=True, slots=True)
class Part:
    """The items of one sender's library, the columns that they share, and the size of these columns in bytes.

    If the columns cannot be built, `problem` is the reason, and the items are rejected with it.
    """

    columns: dict[str, Any]
    n_bytes: int
    items: Any
    problem: str | None = None


def read_records(parts: Iterator[Part], row_of: Callable[..., dict[str, Any] | str]) -> RecordBatch:
    """Read the items of all parts; those beyond MAX_ITEMS are counted and never looked at."""
    batch, remaining = RecordBatch(), MAX_ITEMS
    for part in parts:
        n = len(part.items)
        batch.reject(TOO_MANY, n - remaining)
        for i in range(min(n, remaining)):
            if part.problem or not batch.has_room(part.n_bytes):
                # Not made into a row first: ten thousand of them with a megabyte each would take minutes.
                batch.add(part.problem or TOO_LARGE)
                continue
            try:
                batch.add(row_of(part.columns, part.items[i]))
            except UnreadableMessage as exc:
                batch.add(unreadable(exc))
        remaining = max(0, remaining - n)
    return batch


def unreadable(exc: UnreadableMessage) -> str:
    """Return why an item is rejected."""
    return f"an item cannot be read: {exc}"


def read_spans(request: Any) -> RecordBatch:
    """Read the body of POST /v1/traces."""
    return read_records(iterate_parts(request.resource_spans, "scope_spans", "spans"), span_row)


def read_logs(request: Any) -> RecordBatch:
    """Read the body of POST /v1/logs."""
    digests: Counter[bytes] = Counter()
    parts = iterate_parts(request.resource_logs, "scope_logs", "log_records")
    return read_records(parts, lambda shared, log: log_row(shared, log, digests))


def iterate_parts(senders: Any, parts: str, items: str) -> Iterator[Part]:
    """Yield what each library of each sender sends; a sender is read once, however many libraries it has.

    Those that send nothing, and those beyond MAX_ITEMS, are not read. Raises 413 for more than MAX_SENDERS of them.
    """
    refuse_scattered(senders or (), parts)
    n = 0
    for sender in senders or ():
        shared_part: Part | None = None
        for part in getattr(sender, parts) or ():
            if not (members := getattr(part, items)):
                continue
            if n >= MAX_ITEMS:
                yield Part({}, 0, members)
                continue
            n += len(members)
            shared_part = shared_part or build_shared_part(sender, "resource", sender_columns)
            scope_part = build_shared_part(part, "scope", scope_columns)
            problem = shared_part.problem or scope_part.problem
            yield Part(
                shared_part.columns | scope_part.columns, shared_part.n_bytes + scope_part.n_bytes, members, problem
            )


def build_shared_part(message: Any, name: str, columns_of: Callable[[Any], dict[str, Any]]) -> Part:
    """Return the columns that a sender's or a library's items share, without the items."""
    try:
        columns = columns_of(getattr(message, name))
    except UnreadableMessage as exc:
        return Part({}, 0, (), unreadable(exc))
    return Part(columns, len(orjson.dumps(columns)), ())


def refuse_scattered(senders: Any, parts: str) -> None:
    """Raise 413 for more senders and libraries than real exporters have: a body can contain four million empty ones."""
    n = len(senders)
    for sender in senders[:MAX_SENDERS]:
        n += len(getattr(sender, parts) or ())
        if n > MAX_SENDERS:
            raise Problem(TOO_SCATTERED, code="body_too_large")


def sender_columns(resource: Any) -> dict[str, object]:
    """Return the columns that all items of one sender share."""
    attributes = ValueReader().attributes(resource.attributes)
    return {"resource": attributes, "service_name": attribute_text(attributes, "service.name")}


def scope_columns(scope: Any) -> dict[str, object]:
    """Return the columns that the items of one library share in addition to those of the resource."""
    return {
        "scope_name": column_text(scope.name),
        "scope_version": column_text(scope.version),
        "scope_attributes": ValueReader().attributes(scope.attributes),
    }


def span_row(shared: dict[str, Any], span: Any) -> dict[str, object] | str:
    """Return a span's columns, or why it is rejected."""
    trace_id, span_id = hex_id(span.trace_id, 16), hex_id(span.span_id, 8)
    if trace_id is None or span_id is None:
        return NO_IDS
    reader = ValueReader()
    attributes = reader.attributes(span.attributes)
    started_at, ended = to_int(span.start_time_unix_nano), to_int(span.end_time_unix_nano)
    return {
        **shared,
        **item_placement(attributes, shared),
        "trace_id": trace_id,
        "span_id": span_id,
        "parent_span_id": hex_id(span.parent_span_id, 8),
        "trace_state": column_text(span.trace_state, 512),
        "name": column_text(span.name) or "",
        "kind": span.kind if 0 <= span.kind <= 5 else 0,
        "started_at": moment(started_at),
        "ended_at": moment(max(started_at, ended)),
        "duration_ns": min(max(0, ended - started_at), BIGINT - 1),
        "status_code": span.status.code if 0 <= span.status.code <= 2 else 0,
        "status_message": reader.text(span.status.message) if span.status.message else None,
        "conversation_id": find_conversation_id(attributes),
        "attributes": attributes,
        "events": [build_event(reader, event) for event in (span.events or ())[:MAX_PARTS]],
        "links": [build_link(reader, link) for link in (span.links or ())[:MAX_PARTS]],
    }


def build_event(reader: ValueReader, event: Any) -> dict[str, object]:
    """Return an event of a span."""
    return {
        "timestamp": moment(to_int(event.time_unix_nano)),
        "name": column_text(event.name),
        "attributes": reader.attributes(event.attributes),
    }


def build_link(reader: ValueReader, link: Any) -> dict[str, object]:
    """Return a link of a span to another."""
    return {
        "trace_id": hex_id(link.trace_id, 16),
        "span_id": hex_id(link.span_id, 8),
        "attributes": reader.attributes(link.attributes),
    }


def log_row(shared: dict[str, Any], log: Any, seen: Counter[bytes]) -> dict[str, object]:
    """Return a log's columns; `seen` counts the digests of those without an id."""
    reader = ValueReader()
    attributes = reader.attributes(log.attributes)
    if log.event_name:
        # The name of an event was an attribute before it got a field; readers and filters know the attribute.
        attributes.setdefault("event.name", column_text(log.event_name))
    occurred, observed = to_int(log.time_unix_nano), to_int(log.observed_time_unix_nano)
    log_id = attributes.get("pat.log.id")
    row = {
        **shared,
        **item_placement(attributes, shared),
        "log_id": log_id if isinstance(log_id, str) and 1 <= len(log_id) <= 255 else None,
        "trace_id": hex_id(log.trace_id, 16),
        "span_id": hex_id(log.span_id, 8),
        "trace_flags": log.flags & 0xFF,
        "occurred_at": moment(occurred or observed) if occurred or observed else None,
        "observed_at": moment(observed) if observed else None,
        "severity_number": log.severity_number if 1 <= log.severity_number <= 24 else None,
        "severity_text": column_text(log.severity_text),
        "body": reader.value(log.body),
        "attributes": attributes,
    }
    return row | {"digest": None if row["log_id"] else record_digest(row, (occurred, observed), seen)}


def record_digest(row: Mapping[str, object], times: tuple[int, int], seen: Counter[bytes]) -> str:
    """Tell a record without an id apart: the same in a retried export, and not that of its twin in the same one."""
    digest = hashlib.sha256(orjson.dumps([row, times])).digest()
    seen[digest] += 1
    return hashlib.sha256(digest + str(seen[digest]).encode()).hexdigest()


def item_placement(attributes: dict[str, Any], shared: dict[str, Any]) -> dict[str, object]:
    """Return an item's project, app and experiment from the attributes that Patronus' SDK sets on it or its scope."""
    scope = shared["scope_attributes"]
    experiment = attribute_text(attributes, "pat.experiment.id") or attribute_text(scope, "pat.experiment.id") or ""
    is_id = experiment.isascii() and experiment.isdigit() and len(experiment) < 20
    return {
        "project_name": attribute_text(attributes, "pat.project.name") or attribute_text(scope, "pat.project.name"),
        # Exporters retry a rejected batch indefinitely, so an invalid value that is not displayed is omitted.
        "app": normalize_app_name(
            bare_name(attribute_text(attributes, "pat.app") or attribute_text(scope, "pat.app") or "")
        ),
        "experiment_id": int(experiment) if is_id and int(experiment) < BIGINT else None,
    }


def attribute_text(attributes: dict[str, Any], name: str) -> str | None:
    """Return an attribute as a text for a column."""
    value = attributes.get(name)
    return column_text(str(value)) if isinstance(value, str | int) else None
