"""Favourites, feedback and tags."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evalsvc.evaluations.models import EvaluationRequest
from evalsvc.evaluations.search import results
from tests.conftest import Caller, findings, scores_of
from tests.rest.shapes import assert_problem


def result_id(caller: Caller, **fields: Any) -> str:
    answer = caller.evaluate("exact-match", **{"output": "a", "label": "a", "app": "shop"} | fields)
    return answer.json()["results"][0]["evaluation_id"]


def read(caller: Caller, id: str) -> dict[str, Any]:
    return caller.get(f"/v1/evaluation-results/{id}").json()["evaluation_result"]


def mark(caller: Caller, method: str, id: str, what: str, body: Any = None) -> None:
    answer = caller.call(method, f"/v1/evaluation-results/{id}/{what}", body)
    assert (answer.status_code, answer.content) == (204, b"")


MARKS = [
    ("POST", "favorite", None),
    ("DELETE", "favorite", None),
    ("POST", "evaluation-feedback", {"feedback": "positive"}),
    ("DELETE", "evaluation-feedback", None),
]


def test_a_result_becomes_a_favourite_and_stops_being_one(alice: Caller) -> None:
    id, other = result_id(alice), result_id(alice)
    for _ in range(2):
        mark(alice, "POST", id, "favorite")
        assert (read(alice, id)["favorite"], read(alice, other)["favorite"]) == (True, False)
    for _ in range(2):
        mark(alice, "DELETE", id, "favorite")
        assert read(alice, id)["favorite"] is False


def test_feedback_is_given_changed_and_taken_back(alice: Caller) -> None:
    id = result_id(alice)
    for feedback in ("positive", "positive", "negative"):
        mark(alice, "POST", id, "evaluation-feedback", {"feedback": feedback})
        assert read(alice, id)["evaluation_feedback"] is (feedback == "positive")
        assert alice.get(f"/v1/evaluations/{id}").json()["evaluation"]["feedback"] == feedback
    for _ in range(2):
        mark(alice, "DELETE", id, "evaluation-feedback")
        assert read(alice, id)["evaluation_feedback"] is None


def test_marks_change_no_score(alice: Caller) -> None:
    id = result_id(alice)
    kept, scores = read(alice, id), scores_of(alice, "")
    mark(alice, "POST", id, "favorite")
    mark(alice, "POST", id, "evaluation-feedback", {"feedback": "negative"})

    assert read(alice, id) == kept | {"favorite": True, "evaluation_feedback": False}
    assert scores_of(alice, "") == scores
    assert findings(alice) == {}


def test_the_request_shows_them_too(alice: Caller) -> None:
    answer = alice.evaluate("exact-match", output="a", label="a", app="shop").json()
    mark(alice, "POST", answer["results"][0]["evaluation_id"], "favorite")

    (result,) = alice.get(f"/v1/evaluate/{answer['id']}").json()["results"]
    assert result["evaluation_result"]["favorite"] is True


@pytest.mark.parametrize(("method", "what", "body"), MARKS)
def test_readers_and_strangers_cannot(
    alice: Caller, bob: Caller, charlie: Caller, method: str, what: str, body: Any
) -> None:
    id = result_id(alice)
    path = f"/v1/evaluation-results/{id}/{what}"

    assert_problem(bob.call(method, path, body), "read_only_key")
    assert_problem(charlie.call(method, path, body), "not_found")
    assert (read(bob, id)["favorite"], read(bob, id)["evaluation_feedback"]) == (False, None)


@pytest.mark.parametrize(("method", "what", "body"), MARKS)
def test_what_is_no_result_cannot_be_marked(alice: Caller, method: str, what: str, body: Any) -> None:
    failed = result_id(alice, label=None)
    uncaptured = result_id(alice, capture="none", headers={"prefer": "respond-async"})

    for id in (failed, uncaptured, "12", "9" * 19):
        assert_problem(alice.call(method, f"/v1/evaluation-results/{id}/{what}", body), "not_found")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/feedback"),
        ({"feedback": None}, "/feedback"),
        ({"feedback": "good"}, "/feedback"),
        ({"feedback": 1}, "/feedback"),
        ({"feedback": ["positive"]}, "/feedback"),
        ({"feedback": "positive", "more": 1}, "/more"),
        ([], ""),
    ],
    ids=str,
)
def test_feedback_that_is_none_is_refused(alice: Caller, body: Any, pointer: str) -> None:
    id = result_id(alice)

    answer = alice.post(f"/v1/evaluation-results/{id}/evaluation-feedback", body)
    assert_problem(answer, "validation_failed", pointer)
    assert read(alice, id)["evaluation_feedback"] is None


def test_many_marks_at_once_end_as_one_of_them(alice: Caller) -> None:
    id = result_id(alice)
    path = f"/v1/evaluation-results/{id}/evaluation-feedback"

    def give(n: int) -> int:
        return int(alice.post(path, {"feedback": "positive" if n % 2 else "negative"}).status_code)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(give, range(12))) == {204}
    assert read(alice, id)["evaluation_feedback"] in (True, False)


# Tags


def tags(caller: Caller, query: str = "") -> list[tuple[str, str]]:
    answer = caller.get(f"/v1/evaluation-results/tags{query}")
    assert answer.status_code == 200, answer.content
    assert set(answer.json()) == {"tags"}
    return [(tag["key"], tag["value"]) for tag in answer.json()["tags"]]


def test_tags_are_listed_once_with_their_times(alice: Caller, bob: Caller, charlie: Caller) -> None:
    for value in ("1", "2", "1"):
        result_id(alice, tags={"team": value})
    result_id(alice)
    answer = bob.get("/v1/evaluation-results/tags").json()["tags"]

    assert [(tag["key"], tag["value"]) for tag in answer] == [("team", "1"), ("team", "2")]
    assert all(set(tag) == {"key", "value", "created_at", "last_used"} for tag in answer)
    assert answer[0]["created_at"] < answer[1]["created_at"] == answer[1]["last_used"] < answer[0]["last_used"]
    assert tags(charlie) == []


def test_tags_of_batches_are_there_and_those_of_nothing_kept_are_not(alice: Caller) -> None:
    rows = [{"evaluator_id": "e", "score_raw": 1, "tags": {"a": "", "": "b"}}]
    alice.post("/v1/evaluation-results/batch", {"evaluation_results": rows})
    result_id(alice, tags={"c": "d"}, capture="none", headers={"prefer": "respond-async"})

    assert tags(alice) == [("", "b"), ("a", "")]


def test_tags_are_paged(alice: Caller) -> None:
    result_id(alice, tags={str(n): "x" for n in range(5)})

    assert tags(alice, "?limit=2") == [("0", "x"), ("1", "x")]
    assert tags(alice, "?limit=2&offset=4") == [("4", "x")]
    assert tags(alice, "?offset=5") == []


def test_tags_are_those_of_the_newest_requests(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "N_TAGGED", 2)
    for n in range(3):
        result_id(alice, tags={"n": str(n)})
    result_id(alice)

    assert tags(alice) == [("n", "2"), ("n", "1")]
    assert EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk).count() == 4


@pytest.mark.parametrize(
    ("query", "pointer"),
    [("limit=-1", "/limit"), ("limit=10001", "/limit"), ("offset=-1", "/offset"), ("limit=x", "/limit"), ("q=1", "/q")],
)
def test_a_query_that_cannot_be_read_is_a_problem(alice: Caller, query: str, pointer: str) -> None:
    assert_problem(alice.get(f"/v1/evaluation-results/tags?{query}"), "validation_failed", pointer)
