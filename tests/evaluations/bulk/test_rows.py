"""POST /v1/evaluate/batch: a row for each sample, with the status and the answer that it alone would have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from tests.conftest import Caller, findings, scores_of
from tests.evaluations.bulk.shapes import (
    BATCH,
    EXACT,
    exact,
    lines,
    passes,
    post_lines,
    request_ids,
    rows_of,
    single_calls,
    statuses,
    stream_of,
)
from tests.rest.shapes import assert_problem

MADE = {"id", "created_at", "evaluation_id", "log_id", "evaluation_duration"}


def without_ids(value: Any) -> Any:
    """An answer without what differs between two calls with the same body."""
    if isinstance(value, list):
        return [without_ids(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: without_ids(one) for name, one in value.items() if name not in MADE}


def test_each_sample_gets_its_row_and_its_score(alice: Caller) -> None:
    rows = rows_of(alice.post(BATCH, exact(7)))

    assert statuses(rows) == [200] * 7
    assert passes(rows) == [False, True] * 3 + [False]
    assert len(set(request_ids(rows))) == 7
    assert len(scores_of(alice, "exact-match")) == 7
    assert findings(alice) == {}


@pytest.mark.parametrize("capture", ["all", "fails-only", "none"])
def test_a_row_answers_as_the_single_call(alice: Caller, charlie: Caller, capture: str) -> None:
    shared = {"evaluators": [{"evaluator": "exact-match"}, {"evaluator": "nonsense"}], "capture": capture}
    samples: list[dict[str, Any]] = [{"output": "a", "label": "a", "tags": {"k": "v"}}, {"output": "b", "label": "c"}]
    samples.append({"output": "d"})

    rows = rows_of(alice.post(BATCH, {**shared, "samples": samples}))
    singles = [charlie.post("/v1/evaluate", body).json() for body in single_calls(shared, samples)]

    assert [without_ids(row["answer"]) for row in rows] == [without_ids(answer) for answer in singles]
    assert [row["answer"]["id"] is None for row in rows] == [answer["id"] is None for answer in singles]
    assert len(scores_of(alice, "")) == len(scores_of(charlie, ""))


def test_a_captured_row_is_found_by_its_id(alice: Caller, charlie: Caller) -> None:
    row = rows_of(alice.post(BATCH, exact(2)))[1]

    stored = alice.get(f"/v1/evaluate/{row['answer']['id']}")
    assert without_ids(stored.json()) == without_ids(row["answer"])
    assert charlie.get(f"/v1/evaluate/{row['answer']['id']}").status_code == 404


def test_a_sample_replaces_what_the_batch_says(alice: Caller) -> None:
    shared = {"evaluators": [{"evaluator": "exact-match"}], "task_input": "q", "experiment_id": "1", "label": "x"}
    samples = [{"output": "x", "app": "own", "input": "mine"}, {"output": "x", "label": "y", "app": "own"}]

    first, second = rows_of(alice.post(BATCH, {**shared, "samples": samples}))

    result = first["answer"]["results"][0]["evaluation_result"]
    assert (result["app"], result["evaluated_model_input"], result["pass"]) == ("own", "mine", True)
    assert passes([second]) == [False]


def test_a_bad_sample_harms_no_other(alice: Caller) -> None:
    samples = [
        {"output": "x", "label": "x"},
        {"label": "x"},
        7,
        {"output": "x", "label": "x", "app": "y"},
        {"output": "x", "evaluators": []},
        {"output": "x", "capture": "sometimes"},
        {"output": "\0", "label": "x"},
        {"output": "x", "label": "x"},
    ]
    rows = rows_of(alice.post(BATCH, EXACT | {"samples": samples}))

    assert statuses(rows) == [200, 422, 422, 422, 422, 422, 422, 200]
    pointers = [row["problem"]["errors"][0]["pointer"] for row in rows[1:7]]
    assert pointers == ["/evaluated_model_output", "", "/app", "/evaluators", "/capture", "/output"]
    assert {row["problem"]["code"] for row in rows[1:7]} == {"validation_failed"}
    assert all(row["answer"] is None for row in rows[1:7])
    assert len(scores_of(alice, "exact-match")) == 2


def test_an_unknown_place_is_the_row_s_own_error(alice: Caller) -> None:
    body = {"evaluators": [{"evaluator": "exact-match"}]}
    samples = [{"output": "x", "label": "x", **place} for place in ({"experiment_id": "7"}, {"app": "shop"})]

    rows = rows_of(alice.post(BATCH, {**body, "samples": samples}))

    assert statuses(rows) == [422, 200]
    assert rows[0]["problem"]["errors"][0]["pointer"] == "/experiment_id"


SHARED_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"app": "x"}, "/app"),
    ({"app": 7}, "/app"),
    ({"app": "shop", "experiment_id": "7"}, "/app"),
    ({"app": None, "experiment_id": "7"}, "/experiment_id"),
    ({"project_id": "no-uuid"}, "/project_id"),
    ({"project_id": "00000000-0000-0000-0000-000000000007"}, "/project_id"),
    ({"evaluators": []}, "/evaluators"),
    ({"evaluators": [{"criteria": "c"}]}, "/evaluators/0/evaluator"),
    ({"capture": "sometimes"}, "/capture"),
    ({"tags": {"k": 1}}, "/tags/k"),
    ({"confidence_interval_strategy": "guess"}, "/confidence_interval_strategy"),
]


@pytest.mark.parametrize(("shared", "pointer"), SHARED_FAULTS, ids=[pointer for _, pointer in SHARED_FAULTS])
def test_a_fault_of_the_shared_part_is_one_refusal(alice: Caller, shared: dict[str, Any], pointer: str) -> None:
    answer = alice.post(BATCH, exact(500, **shared))

    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["pointer"].startswith(pointer)
    assert scores_of(alice, "exact-match") == []
    assert alice.get("/v1/apps").json()["apps"] == []


def test_what_only_a_sample_lacks_is_its_own_error(alice: Caller) -> None:
    rows = rows_of(alice.post(BATCH, EXACT | {"gold_answer": "x", "samples": [{"task_output": "x"}, {}]}))

    assert statuses(rows) == [200, 422]
    assert rows[1]["problem"]["errors"][0]["pointer"] == "/evaluated_model_output"


def test_lines_are_whole_calls(alice: Caller) -> None:
    body = EXACT | {"output": "x", "label": "x"}
    raw = lines(body, b"", b"  \r", b'{"broken', b"[]", b"\xff\xfe", b'{"a":' * 500, body) + b"\n"
    rows = rows_of(post_lines(alice, raw))

    assert statuses(rows) == [200, 400, 422, 400, 400, 200]
    assert [row["problem"]["code"] for row in rows[1:5]] == [
        "malformed_json", "validation_failed", "malformed_json", "malformed_json"
    ]  # fmt: skip
    assert len(scores_of(alice, "exact-match")) == 2


def test_rows_are_streamed_where_lines_are_asked_for(alice: Caller) -> None:
    response = alice.post(BATCH, exact(250), Accept="application/x-ndjson")

    assert response.headers["Content-Type"] == "application/x-ndjson"
    rows = stream_of(response)
    assert [row["index"] for row in rows] == list(range(250))
    assert statuses(rows) == [200] * 250
    assert len(scores_of(alice, "exact-match")) == 250


def test_a_thousand_and_one_are_refused_before_any_work(alice: Caller) -> None:
    many = exact(1001)
    one = json.dumps(EXACT | {"output": "x", "label": "x"}).encode()

    assert_problem(alice.post(BATCH, many), "body_too_large", "/samples")
    assert_problem(post_lines(alice, b"\n".join([one] * 1001)), "body_too_large")
    assert not EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk).exists()


@pytest.mark.parametrize("body", [{}, {"samples": []}, {"samples": None}, {"samples": {}}, {"samples": "x"}])
def test_no_samples_are_refused(alice: Caller, body: Any) -> None:
    assert_problem(alice.post(BATCH, EXACT | body), "validation_failed", "/samples")


def test_what_is_broken_behind_the_samples_is_found_first(alice: Caller) -> None:
    raw = json.dumps(exact(3)).encode()

    assert_problem(alice.post(BATCH, raw=raw[:-1] + b', "tags": {]}'), "malformed_json")
    assert_problem(post_lines(alice, b"\n\n"), "validation_failed", "")
    assert scores_of(alice, "exact-match") == []


def test_a_reader_is_refused_and_a_stranger_has_his_own(alice: Caller, bob: Caller, charlie: Caller) -> None:
    assert_problem(bob.post(BATCH, exact(1)), "read_only_key")
    rows_of(alice.post(BATCH, exact(2)))
    rows_of(charlie.post(BATCH, exact(3)))

    assert (len(scores_of(alice, "exact-match")), len(scores_of(charlie, "exact-match"))) == (2, 3)


def test_an_interval_is_of_the_scores_before_the_row_s_part(alice: Caller) -> None:
    rows_of(alice.post(BATCH, exact(4)))
    body = exact(101, confidence_interval_strategy="full-history")
    rows = rows_of(alice.post(BATCH, body))

    found = [row["answer"]["results"][0]["evaluation_result"]["additional_info"]["confidence_interval"] for row in rows]
    assert {one["n"] for one in found[:100]} == {4}
    assert found[100]["n"] == 104
    stored = alice.get(f"/v1/evaluate/{rows[50]['answer']['id']}").json()["results"][0]["evaluation_result"]
    assert stored["additional_info"]["confidence_interval"] == found[50]


def test_scopes_are_read_once_and_answered_each(alice: Caller) -> None:
    rows_of(alice.post(BATCH, exact(4) | {"app": "other"}))
    ask = {"strategy": "wilson", "scope": {"app": "other"}}
    rows = rows_of(alice.post(BATCH, exact(3, confidence_interval_strategy=ask)))

    for row in rows:
        interval = row["answer"]["results"][0]["evaluation_result"]["additional_info"]["confidence_interval"]
        assert (interval["n"], interval["scope"]) == (4, {"app": "other"})


def test_what_a_row_captures_holds_its_own_values(alice: Caller) -> None:
    samples = [{"output": str(i), "label": "1", "tags": {"n": str(i)}, "log_id": f"log-{i}"} for i in range(3)]
    rows = rows_of(alice.post(BATCH, EXACT | {"samples": samples}))

    kept = Evaluation.objects.using("system").filter(account_id=alice.account.pk).order_by("id")
    assert [(row.log_id, row.passed) for row in kept] == [("log-0", False), ("log-1", True), ("log-2", False)]
    assert [row["answer"]["results"][0]["evaluation_result"]["tags"] for row in rows] == [
        {"n": "0"}, {"n": "1"}, {"n": "2"}
    ]  # fmt: skip
