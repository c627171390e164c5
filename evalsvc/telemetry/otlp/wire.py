"""OTLP/HTTP: bodies in, compressed or not, as protobuf or JSON, and the answers in the encoding of the request."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from django.conf import settings
from django.http import HttpResponse
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces
from rest_framework.request import Request

from evalsvc.rest.bodies.parsers import decode, read_body
from evalsvc.rest.problems import FieldError, Invalid, Problem
from evalsvc.telemetry.otlp import otlp_json
from evalsvc.telemetry.otlp.metrics import MetricsRequest, read_metrics
from evalsvc.telemetry.otlp.records import RecordBatch, read_logs, read_spans

JSON, PROTOBUF = "application/json", "application/x-protobuf"
# zlib's word for "gzip or zlib, see its head".
EITHER_FORMAT = 47
LARGE_BYTES = 1024 * 1024
# A message of empty values takes thirty times its length in memory: large ones are read one at a time in a process.
_large = threading.Lock()


class Signal(msgspec.Struct, frozen=True):
    """What one of the addresses takes."""

    protobuf: Any
    decoder: Any
    read: Callable[[Any], RecordBatch]
    response: Any
    count: str
    list: str


TRACES = Signal(
    traces.ExportTraceServiceRequest,
    msgspec.json.Decoder(otlp_json.TracesRequest),
    read_spans,
    traces.ExportTraceServiceResponse,
    "rejected_spans",
    "resourceSpans",
)
LOGS = Signal(
    logs.ExportLogsServiceRequest,
    msgspec.json.Decoder(otlp_json.LogsRequest),
    read_logs,
    logs.ExportLogsServiceResponse,
    "rejected_log_records",
    "resourceLogs",
)
METRICS = Signal(
    metrics.ExportMetricsServiceRequest,
    msgspec.json.Decoder(MetricsRequest),
    read_metrics,
    metrics.ExportMetricsServiceResponse,
    "rejected_data_points",
    "resourceMetrics",
)


def read_request(request: Request, signal: Signal) -> RecordBatch:
    """Read an exporter's body into rows.

    Raises 400 for what cannot be read, 413 for too much of it, 415 for another encoding: exporters drop such a batch,
    and send it again after 429 and 503. They look at the status only, so our errors are problems in JSON as elsewhere.
    """
    kind = media_type(request)
    return read_export(inflate(read_body(request), request.META.get("HTTP_CONTENT_ENCODING", "")), signal, kind)


def read_export(body: bytes, signal: Signal, kind: str) -> RecordBatch:
    """Read an unpacked body of this encoding into rows; it raises as `read_request` does."""
    with limit_large_bodies(body):
        message = parse_protobuf(body, signal) if kind == PROTOBUF else parse_json(body, signal)
        try:
            return signal.read(message)
        except otlp_json.UnreadableMessage as exc:
            # A sender or a library that is not an object: its number of items is unknown.
            raise Invalid(FieldError(f"/{signal.list}", f"{exc}.")) from None


def media_type(request: Request) -> str:
    """Return the encoding of the body, or raise 415."""
    kind = (request.content_type or "").partition(";")[0].strip().lower()
    if kind not in (JSON, PROTOBUF):
        raise Problem(f"Send {PROTOBUF} or {JSON}.", code="unsupported_media_type")
    return kind


@contextmanager
def limit_large_bodies(body: bytes) -> Iterator[None]:
    """Let small bodies pass, and large ones one by one."""
    if len(body) <= LARGE_BYTES:
        yield
        return
    with _large:
        yield


def inflate(body: bytes, encoding: str) -> bytes:
    """Decompress a body, and stop where it grows too large: a kilobyte can expand to a megabyte of zeros."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise Problem("Content-Encoding may be gzip, deflate or identity.", code="unsupported_media_type")
    unpacker = zlib.decompressobj(EITHER_FORMAT)
    try:
        data = unpacker.decompress(body, settings.TELEMETRY_MAX_BYTES + 1)
    except zlib.error as exc:
        raise Problem(f"The body is not {encoding}: {exc}.", code="bad_request") from None
    if len(data) > settings.TELEMETRY_MAX_BYTES:
        raise Problem(f"Unpacked, the body has more than {settings.TELEMETRY_MAX_BYTES} bytes.", code="body_too_large")
    if not unpacker.eof or unpacker.unused_data:
        raise Problem(f"The body is not one whole {encoding} stream.", code="bad_request")
    return data


def parse_protobuf(body: bytes, signal: Signal) -> Message:
    """Parse a protobuf message."""
    try:
        return signal.protobuf.FromString(body)
    except DecodeError as exc:
        raise Problem(f"The body is not the protobuf message of this address: {exc}.", code="bad_request") from None


def parse_json(body: bytes, signal: Signal) -> object:
    """Parse OTLP/JSON; a half of a surrogate pair, which JavaScript writes and UTF-8 lacks, becomes a `?`."""
    try:
        return decode(body, signal.decoder, storable=False)
    except Problem as problem:
        if problem.code != "malformed_json" or b"\\ud" not in body.lower():
            raise
        return decode(read_characters(body, problem), signal.decoder, storable=False)


def read_characters(body: bytes, problem: Problem) -> bytes:
    """Write a JSON document again without halves of surrogate pairs."""
    try:
        return json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        raise problem from None


def answer(request: Request, signal: Signal, batch: RecordBatch) -> HttpResponse:
    """Answer 200 in the encoding of the request."""
    if media_type(request) == PROTOBUF:
        return HttpResponse(protobuf_answer(signal, batch), content_type=PROTOBUF)
    return HttpResponse(json.dumps(json_answer(signal, batch)), content_type=JSON)


def protobuf_answer(signal: Signal, batch: RecordBatch) -> bytes:
    """Return the OTLP response; it contains `partial_success` only if there is something to say."""
    response = signal.response()
    if batch.message:
        setattr(response.partial_success, signal.count, batch.n_rejected)
        response.partial_success.error_message = batch.message
    encoded: bytes = response.SerializeToString()
    return encoded


def json_answer(signal: Signal, batch: RecordBatch) -> dict[str, object]:
    """Return the answer of OTLP/JSON, in which 64-bit integers are texts."""
    if not batch.message:
        return {}
    head, *tail = signal.count.split("_")
    name = head + "".join(part.title() for part in tail)
    return {"partialSuccess": {name: str(batch.n_rejected), "errorMessage": batch.message}}
