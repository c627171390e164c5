"""Reviews: what they are made of, and who may see them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.annotations.shapes import new_criteria
from tests.conftest import Caller
from tests.factories import ok
from tests.rest.shapes import assert_problem
from tests.reviews.shapes import (
    REVIEWS,
    answered_experiment,
    items,
    new_review,
    outputs_of,
    pairs_of,
    report,
    review_of_outputs,
    say_pass,
    take,
)
from tests.rules.shapes import answered, say, send, send_logs
from tests.telemetry.otlp import NOON, SECOND, new_id, span, traces


def test_it_makes_one_of_the_outputs_of_a_config(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice)

    assert (review["state"], review["n_items"], review["n_pending"], review["n_answered"]) == ("open", 4, 4, 0)
    assert [one["id"] for one in review["criteria"]] == [criteria["id"]]
    assert [one["position"] for one in items(alice, review)] == [0, 1, 2, 3]
    assert {one["probability"] for one in items(alice, review)} == {1.0}


def test_it_names_criteria_by_name(alice: Caller) -> None:
    criteria, made = new_criteria(alice, name="Helpful"), answered_experiment(alice)

    review = new_review(alice, outputs_of(made), criteria=["Helpful"])

    assert (review["n_items"], review["criteria"][0]["id"]) == (8, criteria["id"])


def test_it_makes_one_of_pairs(alice: Caller) -> None:
    review = new_review(alice, pairs_of(answered_experiment(alice)))

    assert (review["kind"], review["n_items"], review["criteria"]) == ("pair", 4, [])


def test_it_makes_one_of_evaluations_once_a_log(alice: Caller) -> None:
    for _ in range(2):
        alice.evaluate("exact-match", output="a", label="b", log_id="log-1", app="shop")
    alice.evaluate("exact-match", output="c", label="c", app="shop")
    wanted = {"evaluations": {"filters": [{"field": "app", "operation": "eq", "value": "shop"}]}}

    review = new_review(alice, wanted, new_criteria(alice))

    assert (review["kind"], review["n_items"]) == ("evaluation", 2)


def test_it_makes_one_of_spans(alice: Caller) -> None:
    trace_id = new_id()
    alice.post("/v1/traces", traces(span(trace_id, name="ask")))
    wanted = {"spans": {"filters": [{"field": "trace_id", "op": "eq", "value": trace_id}]}}

    review = new_review(alice, wanted, new_criteria(alice))

    assert (review["n_items"], take(alice, review)["outputs"][0]["text"].count('"ask"')) == (1, 1)


def test_a_span_is_shown_with_the_texts_of_its_logs_and_what_was_retrieved(alice: Caller) -> None:
    ids = {"traceId": new_id(), "spanId": new_id(8)}
    before = {name: str(NOON - SECOND) for name in ("startTimeUnixNano", "endTimeUnixNano")}
    page = {"retrieval.documents.0.document.content": "Order 7 left."}
    send(alice, answered(None, trace_id=ids["traceId"], kind="RETRIEVER", name="find", **before, **page))
    send(alice, answered(None, trace_id=ids["traceId"], spanId=ids["spanId"], kind="LLM", name="ask"))
    send_logs(alice, say("It is sent.", **ids))
    wanted = {"spans": {"filters": [{"field": "span_name", "op": "eq", "value": "ask"}]}}
    held = take(alice, new_review(alice, wanted, new_criteria(alice)))

    assert [output["text"] for output in held["outputs"]] == ["It is sent."]
    assert held["contexts"] == ["Order 7 left."]


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"items": {}}, "/items"),
        ({"items": {"outputs": {"experiment_id": "1"}}}, "/items/outputs/experiment_id"),
        ({"items": {"evaluations": {"filters": []}, "spans": {"filters": []}}}, "/items"),
        ({"items": {"evaluations": {"filters": [{"field": "app", "value": "none"}]}}}, "/items/evaluations"),
        ({"items": {"evaluations": {"filters": [{"field": "nope"}]}}}, "/items/evaluations/filters/0/field"),
        ({"items": {"spans": {"filters": [{"field": "nope"}]}}}, "/items/spans/filters/0/field"),
        ({"n_answers": 0}, "/n_answers"),
        ({"sample": {"method": "random"}}, "/sample/n"),
        ({"sample": {"n": 3}}, "/sample/n"),
        ({"colour": 1}, "/colour"),
        ({"name": "a\u200bb"}, "/name"),
    ],
)
def test_it_says_what_is_wrong(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    items_: dict[str, Any] = {"evaluations": {"filters": []}}
    answer = alice.post(REVIEWS, {"name": "x", "items": items_, "criteria": ["nope"], **fields})

    assert_problem(answer, "validation_failed", pointer)


def test_it_refuses_criteria_that_are_not_asked_of_such_things(alice: Caller) -> None:
    criteria, made = new_criteria(alice, resource_types=["trace"]), answered_experiment(alice)
    body = {"name": "x", "items": outputs_of(made), "criteria": [criteria["id"]]}

    assert_problem(alice.post(REVIEWS, body), "validation_failed", "/criteria/0")


def test_a_frame_that_is_too_large_is_refused_and_not_cut(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    made, criteria = answered_experiment(alice), new_criteria(alice)
    monkeypatch.setattr("evalsvc.reviews.sampling.frame.MAX_FRAME", 5)
    for wanted, name in ((pairs_of(made), "pairs"), (outputs_of(made), "outputs")):
        asked = [criteria["id"]] if name == "outputs" else []
        answer = alice.post(REVIEWS, {"name": "x", "items": wanted, "criteria": asked})
        assert_problem(answer, "validation_failed", f"/items/{name}")


def test_the_same_seed_gives_the_same_order(alice: Caller) -> None:
    made, criteria = answered_experiment(alice, 8), new_criteria(alice)
    first, again, other = (new_review(alice, outputs_of(made), criteria, seed=seed) for seed in (1, 1, 2))
    orders = [[one["output_id"] for one in items(alice, review)] for review in (first, again, other)]

    assert orders[0] == orders[1] != orders[2]
    assert first["sample"]["frame_sha256"] == other["sample"]["frame_sha256"]


def test_it_is_open_then_partial_then_complete(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 2, n_answers=2)
    states = [report(alice, review)["state"]]
    for reviewer in ("ann", "ben"):
        say_pass(alice, review, criteria, True, False, reviewer=reviewer)
        states.append(report(alice, review)["state"])

    assert states == ["open", "partial", "complete"]


def test_a_closed_one_takes_no_answers(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice)
    say_pass(alice, review, criteria, True)
    closed = ok(alice.post(f"{REVIEWS}/{review['id']}/close"))["review"]

    assert_problem(alice.post(f"{REVIEWS}/{review['id']}/lease", {}), "review_closed")
    assert closed["closed_at"] is not None
    assert (closed["n_answered"], closed["n_pending"]) == (1, 3)


def test_a_deleted_one_leaves_its_labels(alice: Caller) -> None:
    review, criteria = review_of_outputs(alice)
    say_pass(alice, review, criteria, True)

    assert alice.call("DELETE", f"{REVIEWS}/{review['id']}").status_code == 204
    assert_problem(alice.get(f"{REVIEWS}/{review['id']}"), "not_found")
    assert len(ok(alice.get("/v1/annotations"))["annotations"]) == 1


def test_readers_look_on(alice: Caller, bob: Caller) -> None:
    review, _ = review_of_outputs(alice)

    assert [one["id"] for one in ok(bob.get(REVIEWS))["reviews"]] == [review["id"]]
    assert_problem(bob.post(f"{REVIEWS}/{review['id']}/lease", {}), "read_only_key")


def test_it_hides_other_accounts(alice: Caller, charlie: Caller) -> None:
    review, _ = review_of_outputs(alice)

    assert ok(charlie.get(REVIEWS)) == {"reviews": [], "next_cursor": None}
    for path in ("", "/items"):
        assert_problem(charlie.get(f"{REVIEWS}/{review['id']}{path}"), "not_found")


def test_no_review_of_what_belongs_to_others(alice: Caller, charlie: Caller) -> None:
    made = answered_experiment(alice)
    body = {"name": "x", "items": outputs_of(made), "criteria": [new_criteria(charlie)["id"]]}

    assert_problem(charlie.post(REVIEWS, body), "validation_failed", "/items/outputs/experiment_id")


def test_what_was_deleted_is_shown_no_more(alice: Caller) -> None:
    made, criteria = answered_experiment(alice), new_criteria(alice)
    review = new_review(alice, outputs_of(made), criteria)
    alice.call("DELETE", f"/v1/experiments/{made['id']}")
    held = take(alice, review)

    assert (held["is_gone"], held["outputs"], held["input"]) == (True, [], None)
