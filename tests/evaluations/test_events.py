"""The event `gen_ai.evaluation.result` in spans and logs: a score, once, of the span that it is about."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.evaluations.models import EvaluationRequest
from tests.conftest import Caller
from tests.telemetry.otlp import NOON, SECOND, attribute, log, logs, new_id, span, traces

EVENT = "gen_ai.evaluation.result"


def attributes(**values: Any) -> list[dict[str, Any]]:
    """Attributes of an evaluation; `name` and `score_value` stand for what begins with `gen_ai.evaluation.`."""
    names = {"name": "name", "value": "score.value", "label": "score.label", "explanation": "explanation"}
    return [attribute(f"gen_ai.evaluation.{names[name]}", value) for name, value in values.items()]


def event(**values: Any) -> dict[str, Any]:
    return {"timeUnixNano": str(NOON), "name": EVENT, "attributes": attributes(**values)}


def chat(trace_id: str, *events: Any, **fields: Any) -> dict[str, Any]:
    texts = [attribute("input.value", "Capital of Norway?"), attribute("output.value", "Oslo")]
    return span(trace_id, attributes=texts, events=list(events), **fields)


def find_scores(caller: Caller, trace_id: str) -> list[dict[str, Any]]:
    filters = [{"field": "trace_id", "operation": "eq", "value": trace_id}]
    found: list[dict[str, Any]] = caller.post("/v1/evaluations/search", {"filters": filters}).json()["evaluations"]
    return sorted(found, key=lambda row: row["evaluator_id"])


def test_an_event_of_a_span_is_a_score_of_it(alice: Caller, charlie: Caller) -> None:
    trace_id = new_id()
    sent = chat(
        trace_id, event(name="helpful", value=0.5, label="fair", explanation="Short."), event(name="b", value=1)
    )
    assert alice.post("/v1/traces", traces(sent)).json() == {}

    second, first = find_scores(alice, trace_id)
    assert (first["evaluator_id"], first["score"], first["text_output"]) == ("external:helpful", 0.5, "fair")
    assert (first["explanation"], first["app"], first["span_id"]) == ("Short.", "shop", sent["spanId"])
    assert first["created_at"].startswith("2026-02-02T02:40:00")
    assert (second["evaluator_id"], second["score"], second["pass"]) == ("external:b", 1.0, None)
    result = alice.get(f"/v1/evaluation-results/{first['id']}").json()["evaluation_result"]
    assert (result["evaluated_model_input"], result["evaluated_model_output"]) == ("Capital of Norway?", "Oslo")
    assert find_scores(charlie, trace_id) == []


def test_a_repeated_and_a_later_version_of_a_span_keep_a_score_once(alice: Caller) -> None:
    trace_id, helpful = new_id(), event(name="helpful", value=0.5)
    sent = chat(trace_id, helpful)
    later = sent | {"events": [helpful, event(name="safe", label="pass")], "endTimeUnixNano": str(NOON + SECOND)}
    for version in (sent, sent, later):
        alice.post("/v1/traces", traces(version))

    helped, safe = find_scores(alice, trace_id)
    assert (helped["score"], safe["score"], safe["pass"], safe["text_output"]) == (0.5, 1.0, True, "pass")


@pytest.mark.parametrize("is_span_first", [True, False])
def test_a_log_is_a_score_of_the_span_that_it_names(alice: Caller, is_span_first: bool) -> None:
    trace_id = new_id()
    judged = chat(trace_id)
    record = log(
        eventName=EVENT, traceId=trace_id, spanId=judged["spanId"], attributes=attributes(name="r", value=0.25)
    )
    posts: list[tuple[str, Any]] = [
        ("/v1/traces", traces(judged)),
        ("/v1/logs", logs(record)),
        ("/v1/logs", logs(record)),
    ]
    for path, body in posts if is_span_first else reversed(posts):
        assert alice.post(path, body).json() == {}

    (score,) = find_scores(alice, trace_id)
    assert (score["evaluator_id"], score["score"], score["span_id"]) == ("external:r", 0.25, judged["spanId"])


def test_a_failed_evaluation_is_no_score(alice: Caller) -> None:
    trace_id = new_id()
    failed = event(name="helpful", value=0.0)
    failed["attributes"].append(attribute("error.type", "timeout"))

    assert alice.post("/v1/traces", traces(chat(trace_id, failed))).json() == {}
    assert find_scores(alice, trace_id) == []


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (event(value=0.5), "evaluator_id"),
        (event(name="helpful"), "score"),
        (event(name="helpful", value="high"), "score"),
        (event(name="x" * 120, value=1), "evaluator_id"),
        (event(name="helpful", value=1e300), "score"),
    ],
)
def test_what_is_no_score_costs_no_span_and_no_other_score(alice: Caller, wrong: dict[str, Any], why: str) -> None:
    trace_id = new_id()

    answer = alice.post("/v1/traces", traces(chat(trace_id, wrong, event(name="good", value=1)))).json()

    said = answer["partialSuccess"]
    assert said["rejectedSpans"] == "0"
    assert said["errorMessage"].startswith("1 evaluation was not kept: ")
    assert why in said["errorMessage"]
    assert [row["evaluator_id"] for row in find_scores(alice, trace_id)] == ["external:good"]
    assert len(alice.get(f"/v1/traces/{trace_id}").json()["spans"]) == 1


def test_a_large_request_says_what_it_did_not_keep(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.evaluations.ingest.events.MAX_EVENTS", 3)
    trace_id = new_id()

    answer = alice.post("/v1/traces", traces(chat(trace_id, *(event(name=f"e{n}", value=n) for n in range(5))))).json()

    assert "beyond the first 3" in answer["partialSuccess"]["errorMessage"]
    assert len(find_scores(alice, trace_id)) == 3


def test_a_later_version_with_another_score_or_app_counts_nothing_twice(alice: Caller) -> None:
    trace_id = new_id()
    sent = chat(trace_id, event(name="helpful", value=0.2), event(name="helpful", value=0.4))
    later = sent | {"events": [event(name="helpful", value=0.9), event(name="helpful", value=0.4)]}
    alice.post("/v1/traces", traces(sent))
    alice.post("/v1/traces", traces(later | {"endTimeUnixNano": str(NOON + SECOND)}, service="shop-2"))

    assert sorted(row["score"] for row in find_scores(alice, trace_id)) == [0.2, 0.4]


def test_an_event_without_a_time_has_that_of_its_span(alice: Caller) -> None:
    trace_id = new_id()
    timeless = {"name": EVENT, "attributes": attributes(name="helpful", value=0.5)}
    sent = chat(trace_id, timeless)
    for version in (sent, sent | {"endTimeUnixNano": str(NOON + SECOND)}):
        assert alice.post("/v1/traces", traces(version)).json() == {}

    (score,) = find_scores(alice, trace_id)
    assert score["created_at"].startswith("2026-02-02T02:40:00")


def test_a_place_or_a_label_that_cannot_be_costs_no_score(alice: Caller) -> None:
    trace_id = new_id()
    sent = chat(trace_id, event(name="helpful", value=0.5, label=7))
    sent["attributes"].append(attribute("pat.project.name", "p" * 60))

    assert alice.post("/v1/traces", traces(sent)).json() == {}
    (score,) = find_scores(alice, trace_id)
    assert (score["score"], score["text_output"], score["project_id"]) == (0.5, None, None)


def test_a_collector_of_many_services_loses_no_score(alice: Caller) -> None:
    trace_id = new_id()
    exports = [traces(chat(trace_id, event(name="up", value=1)), service=f"service-{n}") for n in range(105)]
    body = {"resourceSpans": [resource for export in exports for resource in export["resourceSpans"]]}

    assert alice.post("/v1/traces", body).json() == {}
    assert len({row["app"] for row in find_scores(alice, trace_id)}) == 105


def test_texts_are_copied_up_to_a_limit(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand scores of one long call would be a thousand copies of it."""
    trace_id, judged = new_id(), "x" * 2000
    sent = span(trace_id, attributes=[attribute("input.value", "Who?"), attribute("output.value", judged)])
    alice.post("/v1/traces", traces(sent))
    monkeypatch.setattr("evalsvc.evaluations.ingest.events.MAX_TEXT_BYTES", 5000)
    ids = {"eventName": EVENT, "traceId": trace_id, "spanId": sent["spanId"]}
    records = [log(**ids, attributes=attributes(name=f"e{n}", value=n)) for n in range(5)]

    assert alice.post("/v1/logs", logs(*records)).json() == {}

    requests = EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk).order_by("id")
    assert [request.output == judged for request in requests] == [True, True, False, False, False]
    assert len({request.sample_hash for request in requests}) == 1
