"""/v1/evaluation-results/search: filters, orders, pages, and who finds what."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search import pages as searching
from evalsvc.evaluations.search import results as result_search
from tests.conftest import Caller
from tests.evaluations.sent_results import kept, row
from tests.factories import new_experiment
from tests.rest.shapes import assert_problem

SEARCH = "/v1/evaluation-results/search"


def search(caller: Caller, **wanted: Any) -> list[str]:
    answer = caller.post(SEARCH, wanted)
    assert answer.status_code == 200, answer.content
    assert set(answer.json()) - {"warnings"} == {"results", "next_cursor"}
    return [result["id"] for result in answer.json()["results"]]


def walk(caller: Caller, **wanted: Any) -> list[list[str]]:
    """All pages of a search, by its cursors."""
    pages, cursor = [], None
    while True:
        answer = caller.post(SEARCH, wanted | {"cursor": cursor}).json()
        pages.append([result["id"] for result in answer["results"]])
        cursor = answer["next_cursor"]
        if cursor is None:
            return pages


@pytest.fixture
def three(alice: Caller) -> list[str]:
    """Ids of three results, oldest first; the first is managed, the others are external."""
    (first,) = alice.evaluate(
        "exact-match", output="Paris", label="Paris", app="shop", tags={"a": "1", "b": "2"}, dataset_id="d-1"
    ).json()["results"]
    second, third = kept(
        alice,
        row(evaluator_id="tone", criteria="friendly", tags={"a": "1"}, score_raw=0.25, app="cart", **{"pass": False}),
        row(evaluator_id="length", score_raw=7, app="cart", project_name="p", dataset_id="d-2"),
    )
    assert alice.post(f"/v1/evaluation-results/{second['id']}/favorite").status_code == 204
    path = f"/v1/evaluation-results/{third['id']}/evaluation-feedback"
    assert alice.post(path, {"feedback": "negative"}).status_code == 204
    return [first["evaluation_id"], second["id"], third["id"]]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, [2, 1, 0]),
        ({"app": "cart"}, [2, 1]),
        ({"app": "car%"}, []),
        ({"app": None, "tags": None, "limit": None, "order": None}, [2, 1, 0]),
        ({"unknown": 1}, [2, 1, 0]),
        ({"evaluation_run_id": 7}, []),
        ({"evaluator_id": "exact-match"}, [0]),
        ({"evaluator_id": "exact-match-2026-11-28"}, [0]),
        ({"evaluator_id": "external:tone"}, [1]),
        ({"evaluator_id": "tone"}, []),
        ({"evaluator_family": "exact-match"}, [0]),
        ({"criteria": "friendly"}, [1]),
        ({"profile_name": "friendly"}, [1]),
        ({"criteria": "friendly", "profile_name": "other"}, []),
        ({"criteria": "patronus:exact-match"}, [0]),
        ({"criteria": "exact-match"}, [0]),
        ({"criteria": "system:exact-match"}, [0]),
        ({"dataset_id": "d-2"}, [2]),
        ({"after_datetime": "2026-01-01T00:00:00Z", "before_datetime": "2200-01-01T00:00:00Z"}, [2, 1, 0]),
        ({"before_datetime": "2026-01-01T00:00:00Z"}, []),
        ({"explain": True}, [2, 1, 0]),
        ({"explain": False}, []),
        ({"explain_strategy": "always"}, [2, 1, 0]),
        ({"explain_strategy": "never"}, []),
        ({"pass": True}, [0]),
        ({"pass": False}, [1]),
        ({"score_raw_min": 1}, [2, 0]),
        ({"score_raw_min": 0.25, "score_raw_max": 1}, [1, 0]),
        ({"score_raw_max": -1e308}, []),
        ({"tags": {"a": "1"}}, [1, 0]),
        ({"tags": {"a": "1", "b": "2"}}, [0]),
        ({"tags": {"a": "%"}}, []),
        ({"tags": {}}, [2, 1, 0]),
        ({"favorite": True}, [1]),
        ({"favorite": False}, [2, 0]),
        ({"evaluation_feedback_status": "given"}, [2]),
        ({"evaluation_feedback_status": "notgiven"}, [1, 0]),
        ({"evaluation_feedback_status": "negative"}, [2]),
        ({"evaluation_feedback_status": "positive"}, []),
        ({"experiment_id": "12"}, []),
        ({"experiment_id": 12}, []),
        ({"project_id": str(uuid.UUID(int=1))}, []),
        ({"evaluator_profile_public_id": str(uuid.UUID(int=1))}, []),
        ({"limit": 2}, [2, 1]),
        ({"limit": 2, "offset": 1}, [1, 0]),
        ({"offset": 9}, []),
        ({"order": "-created_at"}, [2, 1, 0]),
        ({"order": "+created_at"}, [0, 1, 2]),
        ({"order": "created_at", "app": "cart"}, [1, 2]),
    ],
    ids=str,
)
def test_it_filters(alice: Caller, three: list[str], wanted: dict[str, Any], expected: list[int]) -> None:
    assert search(alice, **wanted) == [three[i] for i in expected]


def test_it_goes_by_ids_and_places(alice: Caller, three: list[str]) -> None:
    experiment = new_experiment(alice)
    (of_run,) = kept(alice, row(experiment_id=str(experiment.pk)))
    first = alice.get(f"/v1/evaluation-results/{three[0]}").json()["evaluation_result"]
    last = alice.get(f"/v1/evaluation-results/{three[2]}").json()["evaluation_result"]

    assert search(alice, after_id=int(three[0]), before_id=three[2]) == [three[1]]
    assert search(alice, experiment_id=str(experiment.pk)) == [of_run["id"]]
    assert search(alice, project_id=str(experiment.project_id)) == [of_run["id"]]
    assert search(alice, project_id=last["project_id"]) == [three[2]]
    assert search(alice, evaluator_profile_public_id=first["evaluator_profile_public_id"]) == [three[0]]
    assert search(alice, after_datetime=first["created_at"], before_datetime=of_run["created_at"]) == [
        three[2],
        three[1],
    ]


def test_results_are_shown_as_they_are_read(alice: Caller, bob: Caller, three: list[str]) -> None:
    answer = bob.post(SEARCH, {}).json()

    assert answer["results"] == [
        alice.get(f"/v1/evaluation-results/{id}").json()["evaluation_result"] for id in three[::-1]
    ]
    assert [result["favorite"] for result in answer["results"]] == [False, True, False]
    assert [result["evaluation_feedback"] for result in answer["results"]] == [False, None, None]


def test_what_failed_or_was_not_captured_is_no_result(alice: Caller) -> None:
    alice.evaluate("exact-match", output="a", app="shop")
    alice.evaluate("exact-match", output="a", label="a", app="shop", capture="fails-only")
    alice.evaluate("toxicity", output="a", app="shop", headers={"prefer": "wait=0"})

    assert search(alice) == []


def test_a_stranger_finds_nothing(charlie: Caller, three: list[str]) -> None:
    for wanted in ({}, {"after_id": int(three[0]) - 1}, {"tags": {"a": "1"}}, {"order": "+dataset_sample_id"}):
        assert search(charlie, **wanted) == []


@pytest.mark.parametrize("order", ["-created_at", "+created_at", "-dataset_sample_id", "+dataset_sample_id"])
def test_pages_follow_each_other_while_rows_are_added(alice: Caller, order: str) -> None:
    results = kept(alice, *(row(score_raw=i, dataset_sample_id=i) for i in range(7)))
    ids = [result["id"] for result in results]
    first = alice.post(SEARCH, {"limit": 3, "order": order}).json()
    if order != "+created_at":
        kept(alice, row(score_raw=99, dataset_sample_id=3))
    rest = walk_from(alice, first["next_cursor"], limit=3, order=order)

    expected = ids[::-1] if order.startswith("-") else ids
    assert [[result["id"] for result in first["results"]], *rest] == [expected[:3], expected[3:6], expected[6:]]


def walk_from(caller: Caller, cursor: str, **wanted: Any) -> list[list[str]]:
    pages = []
    while cursor is not None:
        answer = caller.post(SEARCH, wanted | {"cursor": cursor}).json()
        pages.append([result["id"] for result in answer["results"]])
        cursor = answer["next_cursor"]
    return pages


def test_samples_are_in_the_order_of_numbers(alice: Caller) -> None:
    samples = ["10", "9", None, "b", "-1", "a", "100", "9"]
    results = kept(alice, *(row(score_raw=i, dataset_sample_id=sample) for i, sample in enumerate(samples)))
    place = {result["id"]: i for i, result in enumerate(results)}

    def order(wanted: str) -> list[str | None]:
        return [samples[place[id]] for id in search(alice, order=wanted)]

    assert order("+dataset_sample_id") == order("dataset_sample_id") == ["-1", "9", "9", "10", "100", "a", "b", None]
    assert order("-dataset_sample_id") == ["100", "10", "9", "9", "-1", "b", "a", None]


def test_pages_by_sample_pass_over_what_was_deleted(alice: Caller) -> None:
    ids = [result["id"] for result in kept(alice, *(row(score_raw=i, dataset_sample_id=i) for i in range(6)))]
    first = alice.post(SEARCH, {"limit": 2, "order": "+dataset_sample_id"}).json()
    alice.call("DELETE", f"/v1/evaluations/{ids[5]}")

    assert walk_from(alice, first["next_cursor"], limit=2, order="+dataset_sample_id") == [ids[2:4], ids[4:5]]


@pytest.mark.parametrize("order", ["-created_at", "+created_at", "-dataset_sample_id", "+dataset_sample_id"])
def test_a_page_ends_where_the_inputs_grow_long(alice: Caller, monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    monkeypatch.setattr("evalsvc.evaluations.search.budget.MAX_PAGE_BYTES", 1000)
    long = {"evaluated_model_input": "x" * 300, "evaluated_model_retrieved_context": ["y" * 300]}
    results = kept(alice, *(row(dataset_sample_id=i, **long) for i in range(3)))
    (huge,) = kept(alice, row(dataset_sample_id=3, evaluated_model_output="z" * 2000))
    ids = [result["id"] for result in (*results, huge)]

    assert walk(alice, order=order) == [[id] for id in (ids[::-1] if order.startswith("-") else ids)]


def test_a_page_takes_as_many_queries_as_a_row(alice: Caller) -> None:
    kept(alice, *(row(score_raw=i, tags={"a": "b"}, dataset_sample_id=i) for i in range(40)))
    for order, expected in (("-created_at", 8), ("+created_at", 8), ("+dataset_sample_id", 9)):
        counts = []
        for limit in (1, 40):
            with CaptureQueriesContext(connection) as queries:
                assert len(search(alice, limit=limit, order=order)) == limit
            counts.append(len(queries))
        assert counts == [expected, expected]


def plan_of(caller: Caller, wanted: dict[str, Any]) -> str:
    """The plan of a search's first page, with sequential scans as the last resort: is there an index in this order?"""
    from evalsvc.evaluations.search.results import result_condition
    from evalsvc.rest.answering.pagination import order_by_time
    from evalsvc.tenancy.scope import account_scope

    with account_scope(caller.account.pk), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        rows = Evaluation.objects.filter(
            result_condition(caller.account, wanted), account=caller.account, captured=True
        )
        ordered = order_by_time(rows.filter(status="success"), oldest_first=wanted.get("order") == "+created_at")
        return ordered.values_list("id")[:10].explain()


@pytest.mark.parametrize("order", ["-created_at", "+created_at"])
@pytest.mark.parametrize(
    "wanted",
    [{}, {"app": "a"}, {"evaluator_id": "external:a"}, {"project_id": uuid.UUID(int=1)}, {"favorite": True}],
    ids=str,
)
def test_both_orders_read_an_index_and_sort_nothing(alice: Caller, order: str, wanted: dict[str, Any]) -> None:
    plan = plan_of(alice, wanted | {"order": order})

    assert ("Backward" in plan) == (order == "+created_at")
    assert "using ix_evaluation_" in plan
    assert "Sort  (" not in plan
    assert "Seq Scan" not in plan


@pytest.mark.parametrize(
    ("wanted", "pointer"),
    [
        ({"app": 7}, "/app"),
        ({"app": ["a"]}, "/app"),
        ({"app": "a\0"}, "/app"),
        ({"project_id": "x"}, "/project_id"),
        ({"experiment_id": "x"}, "/experiment_id"),
        ({"experiment_id": 2**63}, "/experiment_id"),
        ({"after_id": -1}, "/after_id"),
        ({"before_id": 1.5}, "/before_id"),
        ({"after_datetime": "soon"}, "/after_datetime"),
        ({"before_datetime": "9999-12-31T23:59:59-23:59"}, "/before_datetime"),
        ({"after_datetime": "0001-01-01T00:00:00+23:59"}, "/after_datetime"),
        ({"explain_strategy": "sometimes"}, "/explain_strategy"),
        ({"pass": "maybe"}, "/pass"),
        ({"score_raw_min": "high"}, "/score_raw_min"),
        ({"score_raw_max": "NaN"}, "/score_raw_max"),
        ({"score_raw_max": "Infinity"}, "/score_raw_max"),
        ({"tags": {"a": 1}}, "/tags/a"),
        ({"tags": ["a"]}, "/tags"),
        ({"tags": {str(i): "x" for i in range(101)}}, "/tags"),
        ({"favorite": "yes please"}, "/favorite"),
        ({"evaluation_feedback_status": "mixed"}, "/evaluation_feedback_status"),
        ({"order": "score"}, "/order"),
        ({"order": "++created_at"}, "/order"),
        ({"order": ["created_at"]}, "/order"),
        ({"limit": -1}, "/limit"),
        ({"limit": 10_001}, "/limit"),
        ({"offset": -1}, "/offset"),
        ({"offset": 100_001}, "/offset"),
        ({"cursor": "x"}, "/cursor"),
        ({"cursor": "x", "order": "+dataset_sample_id"}, "/cursor"),
        ({"cursor": "x", "offset": 1}, "/offset"),
    ],
    ids=lambda part: str(part)[:60],
)
def test_a_search_that_cannot_be_read_is_a_problem(alice: Caller, wanted: dict[str, Any], pointer: str) -> None:
    assert_problem(alice.post(SEARCH, wanted), "validation_failed", pointer)


def test_a_cursor_belongs_to_its_list(alice: Caller, charlie: Caller) -> None:
    for caller in (alice, charlie):
        kept(caller, row(), row(), row())
    for order in ("-created_at", "+created_at", "+dataset_sample_id", "-dataset_sample_id"):
        cursor = alice.post(SEARCH, {"limit": 1, "order": order}).json()["next_cursor"]
        others = [other for other in ("-created_at", "+created_at", "+dataset_sample_id") if other != order]
        for other in others:
            assert_problem(alice.post(SEARCH, {"order": other, "cursor": cursor}), "validation_failed", "/cursor")
        assert_problem(charlie.post(SEARCH, {"order": order, "cursor": cursor}), "validation_failed", "/cursor")
        assert_problem(alice.post("/v1/evaluations/search", {"cursor": cursor}), "validation_failed", "/cursor")


@pytest.mark.parametrize("order", ["-created_at", "-dataset_sample_id"])
def test_what_is_deleted_while_a_page_is_read_is_left_out(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    results = kept(alice, *(row(score_raw=i, dataset_sample_id=i) for i in range(3)))
    reads: list[Any] = []

    def requests_of(**wanted: Any) -> dict[int, Any]:
        if not reads:
            # Another thread has another connection.
            with ThreadPoolExecutor(1) as pool:
                gone = pool.submit(alice.call, "DELETE", f"/v1/evaluations/{results[1]['id']}").result()
            assert gone.status_code == 204
        reads.append(wanted)
        return searching.fetch_requests(**wanted)

    monkeypatch.setattr(result_search, "fetch_requests", requests_of)
    answer = alice.post("/v1/evaluation-results/search", {"order": order})
    assert answer.status_code == 200, answer.content
    assert [found["id"] for found in answer.json()["results"]] == [results[2]["id"], results[0]["id"]]
