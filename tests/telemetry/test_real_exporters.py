"""Patronus' SDK, unmodified, and OpenTelemetry's own exporters against a real server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Caller
from tests.docs.conftest import web
from tests.rest.shapes import assert_problem
from tests.telemetry.otlp import n_logs, n_spans
from tests.telemetry.sending import SDK, run

__all__ = ["web"]

OTEL = """
import sys
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

url, key = sys.argv[1:]
exporter = OTLPSpanExporter(endpoint=url + "/v1/traces", headers={"x-api-key": key}, compression=Compression.Gzip)
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
with provider.get_tracer("raw").start_as_current_span("packed") as span:
    print("FOUND" + format(span.get_span_context().trace_id, "032x"))
"""


@pytest.fixture(scope="module")
def sender() -> Caller:
    from tests.conftest import new_caller

    return new_caller(name="sender")


@pytest.fixture(scope="module")
def sent(web: str, sender: Caller) -> dict[str, str]:
    """What Patronus' SDK has sent: the ids of a trace and of a log in it."""
    return json.loads(run(SDK, web, sender))


def test_the_spans_of_the_sdk_are_there(sent: dict[str, str], sender: Caller, charlie: Caller) -> None:
    answer = sender.get(f"/v1/traces/{sent['trace_id']}").json()
    spans: dict[str, Any] = {one["span_name"]: one for one in answer["spans"]}

    assert set(spans) == {"ask", "inner"}
    assert spans["inner"]["parent_span_id"] == spans["ask"]["span_id"]
    assert spans["inner"]["span_attributes"] == {"n": 5, "pat.project.name": "answers", "pat.app": "shop"}
    assert {(one["project_name"], one["app"], one["service_name"]) for one in spans.values()} == {
        ("answers", "shop", "bot")
    }
    assert_problem(charlie.get(f"/v1/traces/{sent['trace_id']}"), "not_found")


def test_the_logs_of_the_sdk_are_there(sent: dict[str, str], sender: Caller, charlie: Caller) -> None:
    found = sender.get(f"/v1/logs/{sent['log_id']}").json()["log"]

    assert found["trace_id"] == sent["trace_id"]
    assert found["body"]["task_input"] == "who?"
    assert found["body"]["task_context"] == ["one"]
    assert (found["project_name"], found["app"]) == ("answers", "shop")
    logs = sender.get(f"/v1/traces/{sent['trace_id']}").json()["logs"]
    assert [one["log_attributes"].get("pat.log.type") for one in logs] == ["user", "user", "trace"]
    assert logs[0]["body"] == "thinking about who?"
    assert logs[0]["severity_text"] == "WARN"
    assert_problem(charlie.get(f"/v1/logs/{sent['log_id']}"), "not_found")


def test_a_failure_is_told(sent: dict[str, str], sender: Caller) -> None:
    from evalsvc.telemetry.models import Span

    row = Span.objects.using("system").get(account_id=sender.account.pk, name="broken")
    assert row.status_code == 2
    assert row.events[0]["attributes"]["exception.type"] == "ZeroDivisionError"


def test_a_stranger_has_none_of_it(sent: dict[str, str], sender: Caller, charlie: Caller) -> None:
    assert (n_spans(sender), n_logs(sender)) == (3, 4)
    assert (n_spans(charlie), n_logs(charlie)) == (0, 0)


def test_packed_exports_arrive(web: str, alice: Caller) -> None:
    trace_id = run(OTEL, web, alice)

    assert [one["span_name"] for one in alice.get(f"/v1/traces/{trace_id}").json()["spans"]] == ["packed"]
