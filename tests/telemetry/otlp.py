"""What exporters send, made by hand."""

from __future__ import annotations

import os
from typing import Any

from django.test import Client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from evalsvc.telemetry.models import LogRecord, Span
from tests.conftest import Caller

PROTOBUF = "application/x-protobuf"
SECOND = 1_000_000_000
NOON = 1_770_000_000 * SECOND


def new_id(n_bytes: int = 16) -> str:
    return os.urandom(n_bytes).hex()


def attribute(key: str, value: Any) -> dict[str, Any]:
    kinds = {str: "stringValue", bool: "boolValue", int: "intValue", float: "doubleValue"}
    return {"key": key, "value": {kinds[type(value)]: value} if type(value) in kinds else value}


def span(trace_id: str, **fields: Any) -> dict[str, Any]:
    times = {"startTimeUnixNano": str(NOON), "endTimeUnixNano": str(NOON + SECOND // 2)}
    return {"traceId": trace_id, "spanId": new_id(8), "name": "work", "kind": 1, **times, **fields}


def log(log_id: str | None = None, **fields: Any) -> dict[str, Any]:
    attributes = [attribute("pat.log.id", log_id)] if log_id else []
    return {"timeUnixNano": str(NOON), "body": {"stringValue": "said"}, "attributes": attributes, **fields}


def traces(*spans: Any, service: str = "shop") -> dict[str, Any]:
    resource = {"attributes": [attribute("service.name", service)]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "lib"}, "spans": list(spans)}]}]}


def logs(*records: Any) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}


def protobuf(*spans: tuple[bytes, bytes], name: str = "work") -> bytes:
    """A request as protobuf, with spans of these ids."""
    request = ExportTraceServiceRequest()
    made = request.resource_spans.add().scope_spans.add().spans
    for trace_id, span_id in spans:
        made.add(trace_id=trace_id, span_id=span_id, name=name, start_time_unix_nano=NOON, end_time_unix_nano=NOON)
    return request.SerializeToString()


def send(caller: Caller, path: str, raw: bytes, *, kind: str = PROTOBUF, encoding: str | None = None) -> Any:
    """Send a body as it is."""
    headers: dict[str, Any] = {"HTTP_X_API_KEY": caller.key, "CONTENT_TYPE": kind} | (
        {"HTTP_CONTENT_ENCODING": encoding} if encoding else {}
    )
    return Client(raise_request_exception=False).generic("POST", path, raw, **headers)


def n_spans(caller: Caller) -> int:
    return Span.objects.using("system").filter(account_id=caller.account.pk).count()


def n_logs(caller: Caller) -> int:
    return LogRecord.objects.using("system").filter(account_id=caller.account.pk).count()
