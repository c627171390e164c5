"""POST /v1/metrics, which keeps nothing, and the doubled address of traces."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from tests.conftest import Caller
from tests.rest.shapes import assert_problem
from tests.telemetry.otlp import PROTOBUF, n_spans, new_id, send, span, traces

POINTS: dict[str, Any] = {
    "gauge": {"dataPoints": [{}, {}]},
    "sum": {"dataPoints": [{}]},
    "histogram": {"dataPoints": [{}]},
    "exponentialHistogram": {"dataPoints": [{}]},
    "summary": {"dataPoints": [{}, {}]},
}


def metrics(*found: Any) -> dict[str, Any]:
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": list(found)}]}]}


@pytest.mark.parametrize("kind", POINTS)
def test_every_point_is_rejected_and_counted(alice: Caller, kind: str) -> None:
    answer = alice.post("/v1/metrics", metrics({"name": "n", kind: POINTS[kind]}, {"name": "empty"}))

    n = len(POINTS[kind]["dataPoints"])
    said = f"{n} rejected: metrics are not kept here; spans and logs are"
    assert answer.status_code == 200
    assert answer.json() == {"partialSuccess": {"rejectedDataPoints": str(n), "errorMessage": said}}


def test_protobuf_is_answered_in_protobuf(alice: Caller) -> None:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="n")
    metric.sum.data_points.add(as_double=1.5)
    answer = send(alice, "/v1/metrics", request.SerializeToString())

    assert answer["Content-Type"] == PROTOBUF
    assert ExportMetricsServiceResponse.FromString(answer.content).partial_success.rejected_data_points == 1


@pytest.mark.parametrize("body", [{}, {"resourceMetrics": []}, {"resourceMetrics": None}, metrics(), metrics({})])
def test_nothing_to_reject_is_an_empty_answer(alice: Caller, body: Any) -> None:
    assert alice.post("/v1/metrics", body).json() == {}


@pytest.mark.parametrize("found", [7, {"gauge": 7}, {"gauge": {"dataPoints": 7}}])
def test_what_is_no_metric_is_refused(alice: Caller, found: Any) -> None:
    assert_problem(alice.post("/v1/metrics", metrics(found)), "validation_failed")


def test_a_doubled_path_is_as_the_path(alice: Caller, bob: Caller) -> None:
    sent = traces(span(new_id()))

    assert alice.post("/v1/traces/v1/traces", sent).json() == {}
    assert alice.post("/v1/traces", sent).json() == {}
    assert n_spans(alice) == 1
    assert_problem(bob.post("/v1/traces/v1/traces", sent), "read_only_key")
