"""POST /v1/traces and /v1/logs: what is stored of what exporters send, and what of it comes back."""

from __future__ import annotations

import gzip
import json
import uuid
import zlib
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.conftest import Caller
from tests.rest.shapes import assert_problem
from tests.telemetry.otlp import (
    NOON,
    PROTOBUF,
    SECOND,
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
)  # fmt: skip


def test_spans_come_back_in_order(alice: Caller, charlie: Caller) -> None:
    trace_id = new_id()
    late, early = (span(trace_id, startTimeUnixNano=str(NOON + n), name=str(n)) for n in (SECOND, 0))
    answer = alice.post("/v1/traces", traces(late, early))
    assert (answer.status_code, answer.json()) == (200, {})

    found = alice.get(f"/v1/traces/{trace_id.upper()}").json()
    assert found["trace_id"] == trace_id
    assert [one["span_name"] for one in found["spans"]] == ["0", "1000000000"]
    assert found["logs"] == []
    assert found["next_offset"] is None
    assert_problem(charlie.get(f"/v1/traces/{trace_id}"), "not_found")


def test_a_span_keeps_all_that_was_said(alice: Caller) -> None:
    trace_id, other = new_id(), new_id()
    event = {"timeUnixNano": str(NOON), "name": "exception", "attributes": [attribute("exception.type", "ValueError")]}
    sent = span(
        trace_id,
        parentSpanId="00000000000000aa",
        traceState="a=b",
        kind=3,
        attributes=[attribute("pat.app", "shop"), attribute("pat.experiment.id", "77"), attribute("n", 5)],
        events=[event],
        links=[{"traceId": other, "spanId": new_id(8)}],
        status={"code": 2, "message": "broke"},
    )
    alice.post("/v1/traces", traces(sent))

    (found,) = alice.get(f"/v1/traces/{trace_id}").json()["spans"]
    assert found.pop("created_at")
    assert found == {
        "trace_id": trace_id,
        "span_id": sent["spanId"],
        "parent_span_id": "00000000000000aa",
        "trace_state": "a=b",
        "span_name": "work",
        "span_kind": "SPAN_KIND_CLIENT",
        "timestamp": "2026-02-02T02:40:00+00:00",
        "duration": "PT0.5S",
        "status_code": "STATUS_CODE_ERROR",
        "status_message": "broke",
        "conversation_id": None,
        "span_attributes": {"pat.app": "shop", "pat.experiment.id": "77", "n": 5},
        "events": [
            {
                "timestamp": "2026-02-02T02:40:00+00:00",
                "name": "exception",
                "attributes": {"exception.type": "ValueError"},
            }
        ],
        "links": [{"trace_id": other, "span_id": sent["links"][0]["spanId"], "attributes": {}}],
        "service_name": "shop",
        "project_name": None,
        "app": "shop",
        "experiment_id": 77,
        "experiment_id_str": "77",
        "resource_attributes": {"service.name": "shop"},
        "scope_name": "lib",
        "scope_version": None,
        "scope_attributes": {},
    }


def test_a_log_leads_to_its_trace(alice: Caller, charlie: Caller) -> None:
    log_id, trace_id = str(uuid.uuid4()), new_id()
    body = {"kvlistValue": {"values": [attribute("task_input", "hi"), attribute("n", {"arrayValue": {"values": []}})]}}
    sent = log(log_id, traceId=trace_id, spanId="00000000000000aa", severityNumber=9, severityText="INFO", body=body)
    assert alice.post("/v1/logs", logs(sent)).json() == {}

    found = alice.get(f"/v1/logs/{log_id}").json()["log"]
    assert found["body"] == {"task_input": "hi", "n": []}
    assert (found["trace_id"], found["span_id"]) == (trace_id, "00000000000000aa")
    assert (found["severity_number"], found["severity_text"]) == (9, "INFO")
    assert found["timestamp"] == "2026-02-02T02:40:00+00:00"
    assert alice.get(f"/v1/traces/{trace_id}").json()["logs"] == [found]
    assert_problem(charlie.get(f"/v1/logs/{log_id}"), "not_found")


@pytest.mark.parametrize("path", ["/v1/traces/x", f"/v1/traces/{'0' * 31}g", "/v1/logs/a%00b", f"/v1/logs/{'x' * 999}"])
def test_what_is_no_id_is_not_found(alice: Caller, path: str) -> None:
    assert_problem(alice.get(path), "not_found")


@pytest.mark.parametrize(
    ("pack", "encoding"), [(gzip.compress, "gzip"), (zlib.compress, "deflate"), (bytes, "identity"), (bytes, None)]
)
def test_it_reads_protobuf_packed_or_not(alice: Caller, pack: Any, encoding: str | None) -> None:
    answer = send(alice, "/v1/traces", pack(protobuf((b"a" * 16, b"b" * 8))), encoding=encoding)

    assert (answer.status_code, answer["Content-Type"], answer.content) == (200, PROTOBUF, b"")
    assert alice.get(f"/v1/traces/{(b'a' * 16).hex()}").json()["spans"][0]["span_id"] == (b"b" * 8).hex()


def test_it_reads_packed_json(alice: Caller) -> None:
    raw = gzip.compress(json.dumps(traces(span(new_id()))).encode())

    assert send(alice, "/v1/traces", raw, kind="application/json; charset=utf-8", encoding="gzip").json() == {}
    assert n_spans(alice) == 1


def test_a_retry_doubles_nothing(alice: Caller) -> None:
    spans, records = traces(span(new_id()), span(new_id())), logs(log(str(uuid.uuid4())), log(), log())
    for _ in range(3):
        assert alice.post("/v1/traces", spans).json() == {}
        assert alice.post("/v1/logs", records).json() == {}

    assert n_spans(alice) == 2
    assert n_logs(alice) == 3  # two of them are twins without an id


def _versions() -> tuple[dict[str, Any], dict[str, Any]]:
    """A span as it is sent at its start, and at its end."""
    whole = span(new_id(), attributes=[attribute("output.value", "done")], status={"code": 1})
    start = {name: whole[name] for name in ("traceId", "spanId", "name", "startTimeUnixNano")}
    return start, whole | {"endTimeUnixNano": str(int(start["startTimeUnixNano"]) + 2 * SECOND)}


@pytest.mark.parametrize("order", ["start, end", "end, start", "start, end, start", "one request", "end first"])
def test_the_version_of_a_span_that_ends_later_is_kept(alice: Caller, charlie: Caller, order: str) -> None:
    start, end = _versions()
    charlie.post("/v1/traces", traces(start))
    if order in ("one request", "end first"):
        alice.post("/v1/traces", traces(*((start, end) if order == "one request" else (end, start))))
    else:
        for version in order.split(", "):
            assert alice.post("/v1/traces", traces(start if version == "start" else end)).json() == {}

    (found,) = alice.get(f"/v1/traces/{start['traceId']}").json()["spans"]
    assert found["span_attributes"] == {"output.value": "done"}
    assert (found["duration"], found["status_code"]) == ("PT2S", "STATUS_CODE_OK")
    (other,) = charlie.get(f"/v1/traces/{start['traceId']}").json()["spans"]
    assert (other["duration"], other["span_attributes"]) == ("PT0S", {})


def test_of_versions_without_an_end_the_last_is_kept(alice: Caller) -> None:
    start, _ = _versions()
    for n in range(3):
        alice.post("/v1/traces", traces(start | {"attributes": [attribute("n", n)]}))

    (found,) = alice.get(f"/v1/traces/{start['traceId']}").json()["spans"]
    assert found["span_attributes"] == {"n": 2}


def test_accounts_may_use_the_same_ids(alice: Caller, charlie: Caller) -> None:
    trace_id, log_id = new_id(), str(uuid.uuid4())
    one = span(trace_id)
    for caller in (alice, charlie):
        caller.post("/v1/traces", traces(one | {"name": caller.account.name[:7]}))
        caller.post("/v1/logs", logs(log(log_id, body={"stringValue": caller.account.name[:7]})))

    for caller in (alice, charlie):
        name = caller.account.name[:7]
        assert [s["span_name"] for s in caller.get(f"/v1/traces/{trace_id}").json()["spans"]] == [name]
        assert caller.get(f"/v1/logs/{log_id}").json()["log"]["body"] == name


BAD_IDS = [{"traceId": "0" * 32}, {"traceId": "ab"}, {"traceId": 7}, {"spanId": "zz" * 8}, {"spanId": ""}]


@pytest.mark.parametrize("bad", BAD_IDS, ids=str)
def test_one_bad_span_leaves_the_others(alice: Caller, bad: dict[str, Any]) -> None:
    answer = alice.post("/v1/traces", traces(span(new_id()), span(new_id()) | bad, span(new_id())))

    assert answer.status_code == 200
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"
    assert "trace_id of 16 bytes" in answer.json()["partialSuccess"]["errorMessage"]
    assert n_spans(alice) == 2


def test_it_says_so_in_protobuf(alice: Caller) -> None:
    answer = send(alice, "/v1/traces", protobuf((b"a" * 16, b"b" * 8), (bytes(16), b"b" * 8), (b"a" * 15, b"b" * 8)))
    said = ExportTraceServiceResponse.FromString(answer.content).partial_success

    assert answer["Content-Type"] == PROTOBUF
    assert said.rejected_spans == 2
    assert said.error_message.startswith("2 rejected: a span needs")
    assert n_spans(alice) == 1


def test_too_many_are_counted(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.telemetry.otlp.records.MAX_ITEMS", 2)
    answer = alice.post("/v1/logs", logs(log(), log(), log()))

    assert answer.json()["partialSuccess"]["rejectedLogRecords"] == "1"
    assert n_logs(alice) == 2


def test_a_resource_is_not_stored_a_thousand_times_over(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.conf.settings.TELEMETRY_MAX_BYTES", 100_000)
    answer = alice.post("/v1/traces", traces(*(span(new_id()) for _ in range(30)), service="x" * 200) | {})
    assert answer.json() == {}
    large = traces(*(span(new_id()) for _ in range(30)))
    large["resourceSpans"][0]["resource"]["attributes"].append(attribute("large", "x" * 50_000))

    answer = alice.post("/v1/traces", large)
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "27"
    assert n_spans(alice) == 33


@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs"])
def test_an_empty_export_is_fine(alice: Caller, path: str) -> None:
    assert alice.post(path, {}).json() == {}
    assert send(alice, path, b"").status_code == 200


@pytest.mark.parametrize("path", ["/v1/traces", "/v1/logs"])
def test_readers_may_not_send(bob: Caller, path: str) -> None:
    assert_problem(bob.post(path, {}), "read_only_key")
    assert_problem(send(bob, path, b""), "read_only_key")


def test_readers_may_look(alice: Caller, bob: Caller) -> None:
    trace_id = new_id()
    alice.post("/v1/traces", traces(span(trace_id)))

    assert len(bob.get(f"/v1/traces/{trace_id}").json()["spans"]) == 1


def test_long_traces_come_in_pages(alice: Caller) -> None:
    trace_id = new_id()
    alice.post("/v1/traces", traces(*(span(trace_id, startTimeUnixNano=str(NOON + n * SECOND)) for n in range(5))))
    alice.post("/v1/logs", logs(*(log(str(uuid.uuid4()), traceId=trace_id) for _ in range(3))))

    pages, offset = [], 0
    while offset is not None:
        pages.append(alice.get(f"/v1/traces/{trace_id}?limit=2&offset={offset}").json())
        offset = pages[-1]["next_offset"]
    assert [(len(one["spans"]), len(one["logs"])) for one in pages] == [(2, 2), (2, 1), (1, 0)]
    assert len({one["span_id"] for page in pages for one in page["spans"]}) == 5
    assert len({one["log_id"] for page in pages for one in page["logs"]}) == 3


def test_a_page_ends_where_it_would_grow_too_large(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    trace_id = new_id()
    large = [attribute("text", "x" * 1000)]
    alice.post("/v1/traces", traces(*(span(trace_id, attributes=large) for _ in range(5))))
    monkeypatch.setattr("evalsvc.telemetry.selectors.MAX_ANSWER_BYTES", 4000)

    page = alice.get(f"/v1/traces/{trace_id}").json()
    assert (len(page["spans"]), page["next_offset"]) == (2, 2)
    monkeypatch.setattr("evalsvc.telemetry.selectors.MAX_ANSWER_BYTES", 1)
    assert alice.get(f"/v1/traces/{trace_id}").json()["next_offset"] == 1


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "offset=-1", "offset=x", "more=1"])
def test_it_refuses_a_page_that_is_none(alice: Caller, query: str) -> None:
    trace_id = new_id()
    alice.post("/v1/traces", traces(span(trace_id)))

    assert_problem(alice.get(f"/v1/traces/{trace_id}?{query}"), "validation_failed", f"/{query.split('=')[0]}")
