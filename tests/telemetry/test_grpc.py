"""OTLP over gRPC: the same keys, limits and answers as over HTTP, for real exporters and for hostile callers."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from evalsvc.accounts.models import Account
from evalsvc.local.supervisor.roster import listen_on_free_port
from evalsvc.telemetry.receiver.exports import EXPORTS
from tests.conftest import CHECKOUT, Caller, new_caller, wait_until
from tests.docs.conftest import web
from tests.telemetry.otlp import n_logs, n_spans, new_id, protobuf
from tests.telemetry.receiving import HEALTH, LOGS, METRICS, TRACES, answers_to, call, receiving
from tests.telemetry.sending import SDK, run

pytestmark = pytest.mark.slow

__all__ = ["web"]

SDK_OVER_GRPC = SDK.replace("url, key = sys.argv[1:]", "url, otlp, key = *sys.argv[1].split(), sys.argv[2]").replace(
    'otel_endpoint=url, otel_exporter_otlp_protocol="http/protobuf"', "otel_endpoint=otlp"
)
OTEL = """
import sys
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
import grpc

address, key = sys.argv[1:]
headers = (("authorization", "Bearer " + key),)
exporter = OTLPSpanExporter(endpoint=address, insecure=True, headers=headers, compression=grpc.Compression.Gzip)
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
with provider.get_tracer("raw").start_as_current_span("packed") as span:
    print("FOUND" + format(span.get_span_context().trace_id, "032x"))
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where exports are taken."""
    with receiving(tmp_path_factory.mktemp("otlp")) as found:
        yield found


def a_span(trace_id: str) -> bytes:
    return protobuf((bytes.fromhex(trace_id), bytes.fromhex(new_id(8))))


def a_log(log_id: str) -> bytes:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    record.body.string_value = "said"
    record.attributes.add(key="pat.log.id").value.string_value = log_id
    return request.SerializeToString()


def codes(address: str, *calls: dict[str, Any]) -> list[str]:
    return [found["code"] for found in answers_to(address, *calls)]


def test_the_sdk_sends_by_its_default_protocol(web: str, address: str, charlie: Caller) -> None:
    sender = new_caller(name="grpc-sender")
    sent = json.loads(run(SDK_OVER_GRPC, f"{web} http://{address}", sender))

    spans = {one["span_name"]: one for one in sender.get(f"/v1/traces/{sent['trace_id']}").json()["spans"]}
    assert set(spans) == {"ask", "inner"}
    assert (spans["ask"]["project_name"], spans["ask"]["app"], spans["ask"]["service_name"]) == (
        "answers",
        "shop",
        "bot",
    )
    assert sender.get(f"/v1/logs/{sent['log_id']}").json()["log"]["body"]["task_input"] == "who?"
    assert (n_spans(sender), n_logs(sender)) == (3, 4)
    assert (n_spans(charlie), n_logs(charlie)) == (0, 0)


def test_opentelemetry_s_exporter_sends_packed(address: str, alice: Caller) -> None:
    trace_id = run(OTEL, address, alice)

    assert [one["span_name"] for one in alice.get(f"/v1/traces/{trace_id}").json()["spans"]] == ["packed"]


def test_an_export_sent_again_doubles_nothing(address: str, alice: Caller) -> None:
    sent = call(TRACES, a_span(new_id()), x_api_key=alice.key), call(LOGS, a_log("one"), x_api_key=alice.key)

    assert codes(address, *sent, *sent) == ["OK"] * 4
    assert (n_spans(alice), n_logs(alice)) == (1, 1)


def test_a_bad_span_costs_no_other(address: str, alice: Caller) -> None:
    body = protobuf((b"short", b"s"), (bytes.fromhex(new_id()), bytes.fromhex(new_id(8))))
    (found,) = answers_to(address, call(TRACES, body, x_api_key=alice.key))

    partial = ExportTraceServiceResponse.FromString(base64.b64decode(found["body"])).partial_success
    assert partial.rejected_spans == 1
    assert "trace_id of 16 bytes" in partial.error_message
    assert n_spans(alice) == 1


def test_metrics_are_counted_and_not_kept(address: str, alice: Caller) -> None:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="n")
    metric.gauge.data_points.add(as_int=1)
    metric.gauge.data_points.add(as_int=2)
    (found,) = answers_to(address, call(METRICS, request.SerializeToString(), x_api_key=alice.key))

    partial = ExportMetricsServiceResponse.FromString(base64.b64decode(found["body"])).partial_success
    assert (partial.rejected_data_points, partial.error_message[:11]) == (2, "2 rejected:")


def test_who_may_not_send_is_told(address: str, alice: Caller, bob: Caller, charlie: Caller) -> None:
    body = a_span(new_id())
    doubled = call(TRACES, body, x_api_key=alice.key)
    doubled["metadata"] *= 2
    found = answers_to(
        address,
        call(TRACES, body),
        call(TRACES, body, x_api_key="ek_nothing"),
        call(TRACES, body, x_api_key=alice.key[:-1] + ("a" if alice.key[-1] != "a" else "b")),
        doubled,
        call(TRACES, body, x_api_key=alice.key, authorization=f"Bearer {charlie.key}"),
        call(TRACES, body, x_api_key=bob.key),
    )

    assert [one["code"] for one in found] == ["UNAUTHENTICATED"] * 5 + ["PERMISSION_DENIED"]
    for one, said in zip(
        found, ("no API key", "not of the form", "unknown", "more than one", "two keys"), strict=False
    ):
        assert said in one["detail"]
    assert all(one["trailers"]["x-request-id"].startswith("req_") for one in found)
    assert (n_spans(alice), n_spans(charlie)) == (0, 0)


def test_what_cannot_be_read_is_dropped_by_exporters(address: str, alice: Caller) -> None:
    zeros = bytes(9 * 1024 * 1024)
    found = codes(
        address,
        call(TRACES, b"\xff\xff", x_api_key=alice.key),
        call(TRACES, zeros, x_api_key=alice.key),
        call(TRACES, zeros, gzip=True, x_api_key=alice.key),
        call("/opentelemetry.proto.collector.trace.v1.TraceService/Import", x_api_key=alice.key),
    )

    assert found == ["INVALID_ARGUMENT"] * 3 + ["UNIMPLEMENTED"]


def test_a_bomb_goes_no_further_than_its_limit(address: str, alice: Caller) -> None:
    assert codes(address, call(TRACES, bytes(64 * 1024 * 1024), gzip=True, x_api_key=alice.key)) == [
        "RESOURCE_EXHAUSTED"
    ]
    assert codes(address, call(TRACES, a_span(new_id()), x_api_key=alice.key)) == ["OK"]


def test_one_request_too_many_is_sent_again_when_it_is_told_to(address: str) -> None:
    caller = new_caller(name="limited")
    Account.objects.using("system").filter(pk=caller.account.pk).update(rpm_limit=0)
    (found,) = answers_to(address, call(TRACES, a_span(new_id()), x_api_key=caller.key))

    assert found["code"] == "RESOURCE_EXHAUSTED"
    assert {"grpc-status-details-bin", "google.rpc.retryinfo-bin"} <= set(found["trailers"])


def test_it_is_healthy(address: str) -> None:
    (found,) = answers_to(address, call(HEALTH))

    assert (found["code"], base64.b64decode(found["body"])) == ("OK", b"\x08\x01")


def test_keys_in_plain_text_are_refused_as_over_http(tmp_path: Path, alice: Caller) -> None:
    body = a_span(new_id())
    calls = (
        call(TRACES, body, x_api_key=alice.key),
        call(TRACES, body, x_api_key=alice.key, x_forwarded_proto="https"),
        call(HEALTH),
    )
    with receiving(tmp_path, EVALSVC_REQUIRE_HTTPS="1") as address:
        assert codes(address, *calls) == ["PERMISSION_DENIED", "PERMISSION_DENIED", "OK"]
    with receiving(tmp_path, EVALSVC_REQUIRE_HTTPS="1", EVALSVC_BEHIND_PROXY="1") as address:
        assert codes(address, *calls) == ["PERMISSION_DENIED", "OK", "OK"]


def test_without_a_database_exporters_send_again(tmp_path: Path, alice: Caller) -> None:
    nowhere = "postgresql:///evalsvc?host=/nonexistent"
    with receiving(tmp_path, DATABASE_URL=nowhere) as address:
        (found,) = answers_to(address, call(TRACES, a_span(new_id()), x_api_key=alice.key))

    assert found["code"] == "UNAVAILABLE"
    assert "google.rpc.retryinfo-bin" in found["trailers"]


def test_slow_senders_lose_their_threads_and_keyless_ones_have_none(address: str, alice: Caller) -> None:
    body = a_span(new_id())
    # It would be cancelled after ten seconds; whoever has no key is answered before a message is read.
    slow, keyless = answers_to(address, call(TRACES, body, pause=12, x_api_key=alice.key), call(TRACES, body, pause=12))

    assert (slow["code"], keyless["code"]) == ("CANCELLED", "UNAUTHENTICATED")
    assert n_spans(alice) == 0


def test_a_port_that_is_taken_is_said(address: str) -> None:
    port = address.rpartition(":")[2]
    done = subprocess.run(
        [sys.executable, "manage.py", "otlp_grpc", "--port", port],
        cwd=CHECKOUT, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert f"127.0.0.1:{port} cannot be listened on" in done.stderr


PATIENT = """
import django, os, pathlib, sys
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
django.setup()
from evalsvc.telemetry.receiver.server import serve
serve("127.0.0.1", int(sys.argv[1]), ready=pathlib.Path(sys.argv[2]), patience_seconds=60)
"""


def test_a_port_that_is_taken_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    with listen_on_free_port("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-c", PATIENT, f"{port}", str(ready)]
        process = subprocess.Popen(command, cwd=CHECKOUT, start_new_session=True)
        time.sleep(2)
        assert process.poll() is None and not ready.exists()
    try:
        wait_until(lambda: ready.exists() and ready.read_text() == f"{port}")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(100) == 0


def test_the_services_are_those_of_the_protocol() -> None:
    assert set(EXPORTS) == {TRACES, LOGS, METRICS}


def test_it_stops_when_it_is_told(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    process = subprocess.Popen(
        [sys.executable, "manage.py", "otlp_grpc", "--port", "0", "--ready-file", str(ready)],
        cwd=CHECKOUT, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    wait_until(lambda: ready.exists() or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, b"OTLP over gRPC listening on port" in errors) == (0, True)
