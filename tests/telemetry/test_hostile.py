"""Bodies that mean harm, and values that JSON or PostgreSQL cannot hold."""

from __future__ import annotations

import functools
import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from django.conf import settings
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from evalsvc.telemetry.otlp import records
from evalsvc.telemetry.otlp.values import ValueReader
from tests.conftest import Caller
from tests.rest.shapes import assert_problem
from tests.telemetry.otlp import (
    NOON,
    PROTOBUF,
    attribute,
    log,
    logs,
    n_logs,
    n_spans,
    new_id,
    protobuf,
    send,
    span,
    traces,
)

GOOD = protobuf((b"a" * 16, b"b" * 8))
BROKEN = {
    "truncated": (GOOD[:-3], None),
    "not protobuf": (b"hello", None),
    "bad utf-8": (GOOD.replace(b"work", b"\xff\xfe\xff\xfe"), None),
    "not gzip": (GOOD, "gzip"),
    "half of a gzip": (gzip.compress(GOOD)[:-9], "gzip"),
    "gzip and more": (gzip.compress(GOOD) + b"more", "gzip"),
    "no bytes of gzip": (b"", "gzip"),
}


@contextmanager
def count_calls(kind: type, name: str) -> Iterator[list[Any]]:
    """Note each call of a method, as wall time tells little."""
    with mock.patch.object(kind, name, autospec=True, side_effect=getattr(kind, name)) as calls:
        yield calls.call_args_list


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_read_is_not_sent_again(alice: Caller, name: str) -> None:
    raw, encoding = BROKEN[name]

    assert_problem(send(alice, "/v1/traces", raw, encoding=encoding), "bad_request")
    assert n_spans(alice) == 0


@functools.cache
def bomb() -> bytes:
    """Two hundred megabytes in little; compressed when a test wants it, not whenever tests are collected."""
    return zlib.compress(bytes(200_000_000), 9)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_does_not_go_off(alice: Caller, encoding: str) -> None:
    assert len(bomb()) < 250_000

    assert_problem(send(alice, "/v1/traces", bomb(), encoding=encoding), "body_too_large")


@pytest.mark.parametrize(("kind", "encoding"), [("text/plain", None), ("application/x-protobuf", "br"), ("", None)])
def test_it_refuses_other_encodings(alice: Caller, kind: str, encoding: str | None) -> None:
    assert_problem(send(alice, "/v1/traces", GOOD, kind=kind, encoding=encoding), "unsupported_media_type")


def test_the_limit_of_bodies_holds(alice: Caller) -> None:
    assert_problem(send(alice, "/v1/traces", bytes(settings.MAX_BODY_BYTES + 1)), "body_too_large")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"resourceSpans": 7}, "/resourceSpans"),
        ({"resourceSpans": [{"scopeSpans": [7]}]}, "/resourceSpans"),
        ({"resourceSpans": [None]}, "/resourceSpans"),
    ],
    ids=["no list", "no library", "null"],
)
def test_it_points_to_what_is_wrong(alice: Caller, body: Any, pointer: str) -> None:
    answer = alice.post("/v1/traces", body)

    assert_problem(answer, "validation_failed")
    assert answer.json()["errors"][0]["pointer"].startswith(pointer)


OUT_OF_RANGE: dict[str, Any] = {
    "kind": {"kind": "HERE"},
    "no integer": {"kind": 0.5},
    "no text": {"name": 7},
    "double": {"attributes": [{"key": "n", "value": {"doubleValue": "HERE"}}]},
    "nested": {"events": [{"attributes": [{"key": "n", "value": {"arrayValue": {"values": [{"intValue": "HERE"}]}}}]}]},
    "status": {"status": {"code": "many"}},
    "null": None,
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_a_value_that_cannot_be_read_costs_its_span_alone(alice: Caller, name: str) -> None:
    trace_id, bad = new_id(), OUT_OF_RANGE[name]
    broken = None if bad is None else span(trace_id, **bad)
    raw = json.dumps(traces(span(trace_id, name="a"), broken, span(trace_id, name="b"))).replace('"HERE"', "1e400")
    answer = send(alice, "/v1/traces", raw.encode(), kind="application/json")

    assert answer.status_code == 200
    partial = answer.json()["partialSuccess"]
    assert partial["rejectedSpans"] == "1"
    assert partial["errorMessage"].startswith("1 rejected: an item cannot be read: ")
    assert sorted(one["span_name"] for one in alice.get(f"/v1/traces/{trace_id}").json()["spans"]) == ["a", "b"]


def test_a_log_that_cannot_be_read_costs_no_other(alice: Caller) -> None:
    raw = json.dumps(logs(log("one"), log("two", severityNumber="HERE"), log("three"))).replace('"HERE"', "1e400")
    answer = send(alice, "/v1/logs", raw.encode(), kind="application/json")

    assert answer.json()["partialSuccess"]["rejectedLogRecords"] == "1"
    assert [alice.get(f"/v1/logs/{name}").status_code for name in ("one", "two", "three")] == [200, 404, 200]


def test_bytes_that_are_no_text_cost_their_log_alone(alice: Caller) -> None:
    raw = json.dumps(logs(log("one"), log("two", severityText="HERE"))).encode().replace(b"HERE", b"\xff\xfe")
    answer = send(alice, "/v1/logs", raw, kind="application/json")

    assert answer.json()["partialSuccess"]["rejectedLogRecords"] == "1"
    assert n_logs(alice) == 1


@pytest.mark.parametrize(("shared", "n_kept"), [("resource", 1), ("scope", 2)])
def test_a_sender_or_library_that_cannot_be_read_costs_its_items(alice: Caller, shared: str, n_kept: int) -> None:
    bad = {"attributes": [{"key": "n", "value": {"doubleValue": "HERE"}}]}
    library = {"spans": [span(new_id())]}
    sender: dict[str, Any] = {"scopeSpans": [library | ({"scope": bad} if shared == "scope" else {}), library]}
    sender |= {"resource": bad} if shared == "resource" else {}
    body = {"resourceSpans": [sender, {"scopeSpans": [{"spans": [span(new_id())]}]}]}
    raw = json.dumps(body).replace('"HERE"', "1e400").encode()

    with count_calls(ValueReader, "attributes") as calls:
        answer = send(alice, "/v1/traces", raw, kind="application/json")
    assert answer.json()["partialSuccess"]["rejectedSpans"] == str(3 - n_kept)
    assert n_spans(alice) == n_kept
    # A sender that cannot be read is tried once, however many libraries it has.
    assert len(calls) == {"resource": 1 + 2 + 3, "scope": 1 + 2 + 1 + 3}[shared]


def nested(depth: int) -> bytes:
    return b'{"arrayValue":{"values":[' * depth + b'{"intValue":1}' + b"]}}" * depth


@pytest.mark.parametrize(("depth", "status"), [(10, 200), (60, 200), (100_000, 400)])
def test_depth(alice: Caller, depth: int, status: int) -> None:
    raw = json.dumps(logs(log("deep", body="HERE"))).encode().replace(b'"HERE"', nested(depth))
    assert send(alice, "/v1/logs", raw, kind="application/json").status_code == status

    if status == 200:
        body = json.dumps(alice.get("/v1/logs/deep").json()["log"]["body"])
        assert ("[nested too deeply]" in body) == (depth > 16)


def test_protobuf_of_any_depth(alice: Caller) -> None:
    request = ExportTraceServiceRequest()
    made = request.resource_spans.add().scope_spans.add().spans.add(trace_id=b"a" * 16, span_id=b"b" * 8)
    value = made.attributes.add(key="deep").value
    for _ in range(40):
        value = value.array_value.values.add()
    assert send(alice, "/v1/traces", request.SerializeToString()).status_code in (200, 400)


VALUES: dict[str, tuple[Any, Any]] = {
    "nul": ({"stringValue": "a\0b"}, "a\ufffdb"),
    "nan": ({"doubleValue": "NaN"}, "NaN"),
    "large": ({"doubleValue": 1e300}, "1e+300"),
    "small": ({"doubleValue": 5e-324}, "5e-324"),
    "number": ({"doubleValue": 0.1}, 0.1),
    "int64 as text": ({"intValue": "9223372036854775807"}, 2**63 - 1),
    "beyond 64 bits": ({"intValue": 10**30}, str(10**30)),
    "no integer": ({"intValue": "many"}, "many"),
    "false": ({"boolValue": False}, False),
    "empty text": ({"stringValue": ""}, ""),
    "bytes": ({"bytesValue": "YWI="}, "YWI="),
    "nothing": ({}, None),
    "list": ({"arrayValue": {"values": [{"intValue": 1}, {}]}}, [1, None]),
    "nul in a key": ({"kvlistValue": {"values": [attribute("a\0", 1)]}}, {"a\ufffd": 1}),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(alice: Caller, name: str) -> None:
    sent, kept = VALUES[name]
    assert alice.post("/v1/logs", logs(log("one", body=sent))).json() == {}

    assert alice.get("/v1/logs/one").json()["log"]["body"] == kept


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e300, 0.5, -0.0])
def test_numbers_of_protobuf(alice: Caller, number: float) -> None:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=NOON)
    record.body.double_value = number
    record.attributes.add(key="pat.log.id").value.string_value = "one"
    record.attributes.add(key="raw").value.bytes_value = b"ab"
    assert send(alice, "/v1/logs", request.SerializeToString()).status_code == 200

    found = alice.get("/v1/logs/one").json()["log"]
    assert found["body"] == (number if abs(number) < 1 else str(number))
    assert found["log_attributes"]["raw"] == "YWI="


def test_half_a_pair_is_replaced(alice: Caller) -> None:
    raw = json.dumps(logs(log("one", body={"stringValue": "a HERE b \U0001f600"}))).replace("HERE", "\\ud83d").encode()
    assert send(alice, "/v1/logs", raw, kind="application/json").status_code == 200

    assert alice.get("/v1/logs/one").json()["log"]["body"] == "a ? b \U0001f600"


def test_what_is_too_long_is_cut_and_says_so(alice: Caller) -> None:
    values = [attribute(f"k{n}", "x") for n in range(300)] + [attribute("y" * 1000, 1)]
    sent = log("one", body={"stringValue": "x" * 100_000}, attributes=[attribute("pat.log.id", "one"), *values])
    alice.post("/v1/logs", logs(sent | {"severityText": "s" * 999}))

    found = alice.get("/v1/logs/one").json()["log"]
    assert len(found["body"]) == 65_536
    assert found["body"].endswith("x… [100000 characters]")
    assert len(found["log_attributes"]) == 257
    assert found["log_attributes"]["…"] == "[more attributes were left out]"
    assert len(found["severity_text"]) == 255


def test_one_item_has_an_allowance(alice: Caller) -> None:
    texts = {"arrayValue": {"values": [{"stringValue": "x" * 60_000} for _ in range(20)]}}
    many = {"arrayValue": {"values": [{"intValue": 1}] * 20_000}}
    alice.post("/v1/logs", logs(log("texts", body=texts), log("many", body=many)))

    assert len(json.dumps(alice.get("/v1/logs/texts").json())) < 300_000
    kept = alice.get("/v1/logs/many").json()["log"]["body"]
    assert len(kept) < 10_001
    assert kept[-1] == "[more values were left out]"


@pytest.mark.parametrize(
    ("start", "end", "timestamp", "duration"),
    [
        (0, 0, "1970-01-01T00:00:00+00:00", "PT0S"),
        (2**64 - 1, 5, "2554-07-21T23:34:33.709551+00:00", "PT0S"),
        (NOON, NOON + 1, "2026-02-02T02:40:00+00:00", "PT0.000000001S"),
        (0, 2**64 - 1, "1970-01-01T00:00:00+00:00", "PT9223372036.854775807S"),
        (-5, "x", "1970-01-01T00:00:00+00:00", "PT0S"),
        (2**70, "1" * 5000, "1970-01-01T00:00:00+00:00", "PT0S"),
    ],
    ids=["zero", "backwards", "nanosecond", "longest", "no number", "beyond"],
)
def test_times(alice: Caller, start: Any, end: Any, timestamp: str, duration: str) -> None:
    trace_id = new_id()
    times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(end)}
    assert alice.post("/v1/traces", traces(span(trace_id, **times))).status_code == 200

    (found,) = alice.get(f"/v1/traces/{trace_id}").json()["spans"]
    assert (found["timestamp"], found["duration"]) == (timestamp, duration)


def test_a_log_without_a_time_has_that_of_its_arrival(alice: Caller) -> None:
    alice.post("/v1/logs", logs(log("one", timeUnixNano="0")))

    found = alice.get("/v1/logs/one").json()["log"]
    assert found["timestamp"] == found["created_at"]


@pytest.mark.parametrize("log_id", ["x" * 256, 7, ""])
def test_a_log_id_that_is_none_is_left_out(alice: Caller, log_id: Any) -> None:
    alice.post("/v1/logs", logs(log(attributes=[attribute("pat.log.id", log_id)])))

    assert n_logs(alice) == 1


@pytest.mark.parametrize("experiment", ["x", "9" * 30, "-1", "²", ""])
def test_an_experiment_that_is_none_is_left_out(alice: Caller, experiment: str) -> None:
    alice.post("/v1/logs", logs(log("one", attributes=[
        attribute("pat.log.id", "one"), attribute("pat.experiment.id", experiment)])))  # fmt: skip

    assert alice.get("/v1/logs/one").json()["log"]["experiment_id"] is None


def test_a_sender_is_read_once_however_many_parts_it_has(alice: Caller) -> None:
    request = ExportTraceServiceRequest()
    sender = request.resource_spans.add()
    for n in range(200):
        sender.resource.attributes.add(key=f"k{n}").value.string_value = "x"
    for n in range(50):
        sender.scope_spans.add(spans=[{"trace_id": b"a" * 16, "span_id": bytes([1 + n] * 8)}] if n % 2 else ())

    with count_calls(ValueReader, "attributes") as calls:
        assert send(alice, "/v1/traces", request.SerializeToString()).status_code == 200
    assert n_spans(alice) == 25
    # One for the sender, and for each part that has a span one for its library and one for the span.
    assert len(calls) == 1 + 25 * 2


@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs"])
def test_what_finds_no_room_is_not_read(alice: Caller, path: str) -> None:
    attributes = [attribute(f"k{n}", "\x01" * 60_000) for n in range(4)]
    sender = {"resource": {"attributes": attributes}}
    items = [{"traceId": new_id(), "spanId": new_id(8)} for _ in range(500)]
    bodies = {
        "/v1/traces": {"resourceSpans": [sender | {"scopeSpans": [{"spans": items}]}]},
        "/v1/logs": {"resourceLogs": [sender | {"scopeLogs": [{"logRecords": items}]}]},
    }

    with count_calls(ValueReader, "attributes") as calls:
        answer = alice.post(path, bodies[path])
    n_kept = n_spans(alice) + n_logs(alice)
    assert answer.json()["partialSuccess"]["errorMessage"].startswith(f"{500 - n_kept} rejected")
    assert 0 < n_kept < 20
    assert len(calls) < 25


def test_senders_beyond_the_bound_are_not_read(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_ITEMS", 5)
    senders = [{"scopeSpans": [{"spans": [{"traceId": new_id(), "spanId": new_id(8)}]}]} for _ in range(30)]

    with count_calls(ValueReader, "attributes") as calls:
        answer = alice.post("/v1/traces", {"resourceSpans": [*[{}] * 30, *senders]})
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "25"
    assert n_spans(alice) == 5
    # For each span that is kept its sender, its library and itself.
    assert len(calls) == 5 * 3


def varint(number: int) -> bytes:
    """Write a number as protobuf does."""
    head = b"" if number < 128 else varint(number >> 7)
    return bytes([number & 127]) if not head else bytes([number & 127 | 128]) + varint(number >> 7)


def wrapped(field: int, body: bytes) -> bytes:
    """Write a message's field of bytes as protobuf does."""
    return bytes([field << 3 | 2]) + varint(len(body)) + body


N_EMPTY = 100_000
EMPTY = b"{}," * (N_EMPTY - 1) + b"{}"
SCATTERED = {
    "senders of protobuf": (wrapped(1, b"") * N_EMPTY, PROTOBUF),
    "libraries of protobuf": (wrapped(1, wrapped(2, b"") * N_EMPTY), PROTOBUF),
    "senders of json": (b'{"resourceSpans":[%s]}' % EMPTY, "application/json"),
    "libraries of json": (b'{"resourceSpans":[{"scopeSpans":[%s]}]}' % EMPTY, "application/json"),
}


@pytest.mark.parametrize("name", SCATTERED)
def test_more_senders_than_exporters_have_are_refused(alice: Caller, name: str) -> None:
    raw, kind = SCATTERED[name]

    answer = send(alice, "/v1/traces", raw, kind=kind)
    assert_problem(answer, "body_too_large")
    assert "20000 senders" in answer.json()["detail"]


def test_as_many_senders_as_items_are_not_too_many(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_ITEMS", 5)
    monkeypatch.setattr(records, "MAX_SENDERS", 10)
    sender = traces(span(new_id()))["resourceSpans"][0]

    assert alice.post("/v1/traces", {"resourceSpans": [sender] * 5}).json() == {}
    assert_problem(alice.post("/v1/traces", {"resourceSpans": [sender] * 6}), "body_too_large")


@pytest.mark.parametrize("kind", [PROTOBUF, "application/json"])
def test_items_beyond_the_bound_are_counted_and_not_read(alice: Caller, kind: str) -> None:
    raw = wrapped(1, wrapped(2, wrapped(2, b"") * N_EMPTY))
    if kind != PROTOBUF:
        raw = b'{"resourceSpans":[{"scopeSpans":[{"spans":[%s]}]}]}' % EMPTY

    with count_calls(records.RecordBatch, "add") as calls:
        answer = send(alice, "/v1/traces", raw, kind=kind)
    assert answer.status_code == 200
    assert b"90000 rejected: a request holds at most 10000 items" in answer.content
    assert len(calls) == records.MAX_ITEMS
