"""Searches for logs and spans, in the shapes of Patronus' clients."""

from __future__ import annotations

from typing import Any

import patronus_api
import pytest
from django.db import connection

from evalsvc.telemetry import selectors
from tests.conftest import Caller
from tests.docs.conftest import web
from tests.rest.shapes import assert_problem
from tests.telemetry.otlp import NOON, SECOND, attribute, log, logs, new_id, span, traces

__all__ = ["web"]
TRACES = ["ab" * 16, "cd" * 16]
LATER = "2026-02-02T02:40:30Z"


@pytest.fixture
def filled(alice: Caller) -> Caller:
    """Alice with logs and spans `a`, `b` and `c`, a minute apart: app `shop` but for `c`."""
    for n, name in enumerate("abc"):
        time = str(NOON + n * 60 * SECOND)
        place = [attribute("pat.app", "shop"), attribute("pat.experiment.id", str(n))] if name != "c" else []
        said = {"traceId": TRACES[n % 2], "spanId": new_id(8)}
        record = log(attributes=[attribute("pat.log.id", name), attribute("n", 5), *place], timeUnixNano=time, **said)
        alice.post("/v1/logs", logs(record | {"severityNumber": n + 1}))
        one = span(TRACES[n % 2], name=name, attributes=[*place, attribute("n", 5)])
        alice.post("/v1/traces", traces(one | {"startTimeUnixNano": time, "endTimeUnixNano": time}))
    return alice


def found(caller: Caller, what: str, *filters: dict[str, Any], **more: Any) -> str:
    answer = caller.post(f"/v1/otel/{what}/search", {"filters": list(filters), **more})
    assert answer.status_code == 200, answer.content
    return "".join(one["log_id"] if what == "logs" else one["span_name"] for one in answer.json()[what])


def leaf(field: str, op: str, value: Any) -> dict[str, Any]:
    return {"field": field, "op": op, "value": value}


CASES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "all": ([], "cba"),
    "eq": ([leaf("app", "eq", "shop")], "ba"),
    "ne has those without": ([leaf("app", "ne", "shop")], "c"),
    "null": ([leaf("app", "eq", None)], "c"),
    "not null": ([leaf("app", "ne", None)], "ba"),
    "starts_with": ([leaf("app", "starts_with", "sh")], "ba"),
    "ends_with": ([leaf("app", "ends_with", "%")], ""),
    "gt": ([leaf("timestamp", "gt", LATER)], "cb"),
    "le": ([leaf("timestamp", "le", "2026-02-02T02:40:00")], "a"),
    "in": ([leaf("experiment_id", "in", [1, "7"])], "b"),
    "in nothing": ([leaf("experiment_id", "in", [])], ""),
    "and": ([leaf("trace_id", "eq", TRACES[0]), leaf("app", "eq", "shop")], "a"),
    "or_": ([{"or_": [leaf("trace_id", "eq", TRACES[1]), leaf("app", "eq", None)]}], "cb"),
    "and_ in or_": ([{"or_": [{"and_": [leaf("app", "eq", "shop"), leaf("experiment_id", "lt", 1)]}]}], "a"),
    "op is eq": ([{"field": "app", "value": "shop"}], "ba"),
}


@pytest.mark.parametrize("what", ["logs", "spans"])
@pytest.mark.parametrize("name", CASES)
def test_filters(filled: Caller, name: str, what: str) -> None:
    filters, names = CASES[name]
    assert found(filled, what, *filters) == names


@pytest.mark.parametrize("what", ["logs", "spans"])
def test_order_and_limit(filled: Caller, bob: Caller, what: str) -> None:
    assert found(filled, what, order="timestamp asc", limit=2) == "ab"
    assert found(bob, what, order="timestamp desc", limit=1) == "c"


@pytest.mark.parametrize("what", ["logs", "spans"])
def test_strangers_find_nothing(filled: Caller, charlie: Caller, what: str) -> None:
    assert found(charlie, what) == ""
    assert found(charlie, what, {"or_": [leaf("app", "eq", "shop"), leaf("app", "ne", "x")]}) == ""


BAD: dict[str, tuple[Any, str]] = {
    "no field": ([{}], "/filters/0"),
    "unknown field": ([leaf("body", "eq", "x")], "/filters/0/field"),
    "a lookup": ([leaf("account__name", "eq", "x")], "/filters/0/field"),
    "unknown op": ([leaf("app", "like", "x")], "/filters/0/op"),
    "a list of ops": ([{"field": "app", "op": ["eq"], "value": "x"}], "/filters/0/op"),
    "an object of ops": ([{"field": "app", "op": {"eq": 1}, "value": "x"}], "/filters/0/op"),
    "no text": ([leaf("app", "eq", 7)], "/filters/0/value"),
    "no time": ([leaf("timestamp", "gt", "2026-13-99T00:00:00")], "/filters/0/value"),
    "no integer": ([leaf("experiment_id", "eq", 2**63)], "/filters/0/value"),
    "no list": ([leaf("app", "in", "x")], "/filters/0/value"),
    "one of the list": ([leaf("app", "in", ["x", 7])], "/filters/0/value/1"),
    "null has no order": ([leaf("app", "gt", None)], "/filters/0/value"),
    "nested": ([{"or_": [leaf("app", "eq", "x"), {}]}], "/filters/0/or_/1"),
    "no nested list": ([{"or_": {"field": "app"}}], "/filters/0/or_"),
}


@pytest.mark.parametrize("what", ["logs", "spans"])
@pytest.mark.parametrize("name", BAD)
def test_it_points_to_what_it_cannot_read(alice: Caller, name: str, what: str) -> None:
    filters, pointer = BAD[name]
    assert_problem(alice.post(f"/v1/otel/{what}/search", {"filters": filters}), "validation_failed", pointer)


def test_too_many_and_too_deep(alice: Caller) -> None:
    deep = leaf("app", "eq", "x")
    for _ in range(10):
        deep = {"and_": [deep]}
    for filters in ([leaf("app", "eq", "x")] * 101, [deep]):
        assert_problem(alice.post("/v1/otel/logs/search", {"filters": filters}), "validation_failed")


@pytest.mark.parametrize("body", [{"limit": -1}, {"limit": 1001}, {"order": "name"}, {"filters": 7}], ids=str)
def test_it_refuses(alice: Caller, body: dict[str, Any]) -> None:
    assert_problem(alice.post("/v1/otel/spans/search", body), "validation_failed", f"/{next(iter(body))}")


@pytest.mark.parametrize("what", ["logs", "spans"])
@pytest.mark.parametrize("slow", ["first", "second"])
def test_what_takes_too_long_ends(filled: Caller, monkeypatch: pytest.MonkeyPatch, what: str, slow: str) -> None:
    monkeypatch.setattr(selectors, "TIMEOUT_SECONDS", 0.2)

    def dawdle(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        # The first statement reads sizes, the second whole rows.
        is_slow = 'FROM "telemetry_' in sql and ('"resource"' in sql) == (slow == "second")
        return execute("SELECT pg_sleep(20)", None, many, context) if is_slow else execute(sql, params, many, context)

    with connection.execute_wrapper(dawdle):
        answer = filled.post(f"/v1/otel/{what}/search", {})
    assert_problem(answer, "search_too_slow")
    assert "0.2 s" in answer.json()["detail"]


def test_patronus_own_client_reads_the_answers(web: str, filled: Caller) -> None:
    with patronus_api.PatronusAPI(api_key=filled.key, base_url=web, _strict_response_validation=True) as client:
        filters: Any = [leaf("app", "eq", "shop")]
        (one, _) = client.otel.logs.search(filters=filters, order="timestamp asc", limit=10).logs
        (other, _) = client.otel.spans.search(filters=filters, order="timestamp asc", limit=10).spans

    assert one.body == "said"
    assert one.log_attributes == {"pat.log.id": "a", "n": "5", "pat.app": "shop", "pat.experiment.id": "0"}
    assert (one.severity_number, one.trace_id) == (1, TRACES[0])
    assert (other.span_name, other.duration, other.service_name) == ("a", "PT0S", "shop")
    assert other.span_attributes == {"n": "5", "pat.app": "shop", "pat.experiment.id": "0"}
