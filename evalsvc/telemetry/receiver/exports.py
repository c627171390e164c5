"""One export over gRPC: the same key, limits, reading and storing as over HTTP. Nothing of gRPC is known here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from django.conf import settings

from evalsvc.accounts.access.authentication import authenticate_headers
from evalsvc.accounts.access.permissions import check_write_scope
from evalsvc.accounts.access.throttling import check_limits
from evalsvc.accounts.models import Account
from evalsvc.rest.problems import Problem
from evalsvc.telemetry.otlp.records import RecordBatch
from evalsvc.telemetry.otlp.wire import LOGS, METRICS, PROTOBUF, TRACES, Signal, protobuf_answer, read_export
from evalsvc.telemetry.services import store_logs, store_spans
from evalsvc.tenancy.scope import account_scope


class Store(Protocol):
    """Writes a batch."""

    def __call__(self, *, account: Account, batch: RecordBatch) -> None:
        """Write it."""


@dataclass(frozen=True, slots=True)
class ExportService:
    """One OTLP service: the message type that it accepts, and the function that stores it."""

    signal: Signal
    store: Store


def keep_nothing(*, account: Account, batch: RecordBatch) -> None:
    """Discard the metrics."""


EXPORTS = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export": ExportService(TRACES, store_spans),
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": ExportService(LOGS, store_logs),
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": ExportService(METRICS, keep_nothing),
}


def export_batch(service: ExportService, metadata: Mapping[str, str], read: Callable[[], bytes]) -> bytes:
    """Store an export and return the response. Raises the same exceptions as a view.

    `read` fetches the message; a caller without a key is refused before it is called.
    """
    refuse_plain_text(metadata)
    caller = authenticate_headers(metadata.get("x-api-key", ""), metadata.get("authorization", ""))
    check_write_scope(caller)
    check_limits(caller)
    batch = read_export(limit_body(read()), service.signal, PROTOBUF)
    with account_scope(caller.account.pk):
        service.store(account=caller.account, batch=batch)
    return protobuf_answer(service.signal, batch)


def limit_body(body: bytes) -> bytes:
    """Return a message, which gRPC has unpacked; raise 413 for one that is too large."""
    if len(body) > settings.TELEMETRY_MAX_BYTES:
        raise Problem(f"Unpacked, the body has more than {settings.TELEMETRY_MAX_BYTES} bytes.", code="body_too_large")
    return body


def refuse_plain_text(metadata: Mapping[str, str]) -> None:
    """Refuse a key sent in plain text, as over HTTP: TLS ends at the proxy in front of the listener."""
    by_tls = settings.BEHIND_PROXY and metadata.get("x-forwarded-proto") == "https"
    if settings.REQUIRE_HTTPS and not by_tls:
        raise Problem(code="https_required")
