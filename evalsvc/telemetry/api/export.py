"""POST /v1/traces and /v1/logs take what exporters send; GET with an id returns it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView, get_query_params, validate_strict
from evalsvc.rest.answering.shapes import answers_with, build_shape
from evalsvc.telemetry import services
from evalsvc.telemetry.answers import LogEnvelope, TraceAnswer, log_out, span_out
from evalsvc.telemetry.otlp.records import RecordBatch
from evalsvc.telemetry.otlp.wire import JSON, LOGS, METRICS, PROTOBUF, TRACES, Signal, answer, read_request
from evalsvc.telemetry.selectors import get_log, get_trace


class TraceQuery(serializers.Serializer[Any]):
    """Which part of a trace."""

    limit = serializers.IntegerField(min_value=1, max_value=1000, default=1000)
    offset = serializers.IntegerField(min_value=0, max_value=10_000_000, default=0)


def export_schema(name: str) -> dict[str, object]:
    """Describe the body of an export; OpenTelemetry's protocol describes what is in it."""
    group = {"type": "array", "items": {"type": "object"}}
    return {JSON: {"type": "object", "properties": {name: group}}, PROTOBUF: OpenApiTypes.BINARY}


def answer_schema(name: str) -> dict[Any, Any]:
    """Describe the answer to an export."""
    part = {"type": "object", "properties": {name: {"type": "string"}, "errorMessage": {"type": "string"}}}
    body = {"type": "object", "properties": {"partialSuccess": part}}
    return {(200, JSON): body, (200, PROTOBUF): OpenApiTypes.BINARY}


class ExportView(AccountView):
    """What the exporters' addresses share."""

    signal: Signal
    batch: RecordBatch

    def receive(self, request: Request) -> None:
        """Read the body before the transaction begins."""
        if request.method == "POST":
            self.batch = read_request(request, self.signal)


class TracesView(ExportView):
    """Spans in."""

    signal = TRACES

    @extend_schema(
        operation_id="export_traces",
        tags=["telemetry"],
        request=export_schema("resourceSpans"),
        responses=answer_schema("rejectedSpans"),
    )
    def post(self, request: Request) -> HttpResponse:
        """Store spans (OTLP/HTTP); sent again they are stored once. Those without ids are rejected and counted."""
        services.store_spans(account=self.account, batch=self.batch)
        return answer(request, self.signal, self.batch)


class DoubledTracesView(TracesView):
    """Spans in, from exporters that put their path behind an endpoint that had it already."""

    @extend_schema(
        operation_id="export_traces_doubled",
        tags=["telemetry"],
        request=export_schema("resourceSpans"),
        responses=answer_schema("rejectedSpans"),
    )
    def post(self, request: Request) -> HttpResponse:
        """Store spans, as POST /v1/traces does."""
        return super().post(request)


class LogsView(ExportView):
    """Logs in."""

    signal = LOGS

    @extend_schema(
        operation_id="export_logs",
        tags=["telemetry"],
        request=export_schema("resourceLogs"),
        responses=answer_schema("rejectedLogRecords"),
    )
    def post(self, request: Request) -> HttpResponse:
        """Store logs (OTLP/HTTP); sent again they are stored once."""
        services.store_logs(account=self.account, batch=self.batch)
        return answer(request, self.signal, self.batch)


class MetricsExportView(ExportView):
    """Accept OTLP metrics without storing them."""

    signal = METRICS
    remembers_tries = ()

    @extend_schema(
        operation_id="export_metrics",
        tags=["telemetry"],
        request=export_schema("resourceMetrics"),
        responses=answer_schema("rejectedDataPoints"),
    )
    def post(self, request: Request) -> HttpResponse:
        """Take metrics (OTLP/HTTP) and keep none: all points are rejected and counted, and no exporter fails."""
        return answer(request, self.signal, self.batch)


class TraceView(AccountView):
    """One trace."""

    one_snapshot = True

    @extend_schema(
        operation_id="trace",
        tags=["telemetry"],
        parameters=[TraceQuery],
        responses=answers_with(TraceAnswer),
    )
    def get(self, request: Request, trace_id: str) -> Response:
        """Return a trace's spans by their start, and its logs by their time; `next_offset` is null on the last page."""
        query = validate_strict(TraceQuery(data=get_query_params(request)))
        trace = get_trace(account=self.account, trace_id=trace_id, **query)
        spans, logs = [span_out(row) for row in trace.spans], [log_out(row) for row in trace.logs]
        return Response(build_shape(trace, TraceAnswer, spans=spans, logs=logs))


class LogView(AccountView):
    """One log."""

    @extend_schema(operation_id="log", tags=["telemetry"], responses=answers_with(LogEnvelope))
    def get(self, request: Request, log_id: str) -> Response:
        """Return the log that its sender gave this id (`pat.log.id`)."""
        return Response(LogEnvelope(log=log_out(get_log(account=self.account, log_id=log_id))))
