"""POST /v1/evaluations/batch: scores made elsewhere, kept once, found and remembered like our own."""

from __future__ import annotations

import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from tests.conftest import Caller, findings, scores_of
from tests.evaluations.client_rows import FULL
from tests.factories import new_experiment
from tests.rest.shapes import assert_problem

PATH = "/v1/evaluations/batch"


def row(**fields: Any) -> dict[str, Any]:
    return {"evaluator_id": "tone", "log_id": str(uuid.uuid4()), "score": 0.5} | fields


def send(caller: Caller, *rows: Any) -> dict[str, Any]:
    answer = caller.post(PATH, {"evaluations": list(rows)})
    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert set(found) == {"evaluations", "n_new", "errors"}
    return found


def n_kept(caller: Caller) -> int:
    return Evaluation.objects.using("system").filter(account_id=caller.account.pk).count()


def test_it_answers_with_the_evaluation(alice: Caller) -> None:
    found = send(alice, FULL)
    (kept,) = found["evaluations"]

    assert found["errors"] == []
    same = ["log_id", "app", "criteria", "pass", "score", "text_output", "metadata", "explanation", "tags"]
    same += ["metric_name", "metric_description", "dataset_id", "trace_id", "span_id", "evaluation_duration"]
    assert {name: kept[name] for name in same} == {name: FULL[name] for name in same}
    assert kept["evaluator_id"] == "external:tone"
    assert kept["evaluation_type"] == "client_evaluation"
    assert kept["explanation_duration"] == "PT60S"
    assert kept["dataset_sample_id"] == "7"
    assert kept["created_at"].startswith("2026-11-01T08:00:00")
    assert kept["project_id"]
    assert (kept["status"], kept["error_code"], kept["evaluator_family"]) == ("success", None, None)


def test_it_is_read_again_by_its_id(alice: Caller) -> None:
    (kept,) = send(alice, FULL)["evaluations"]

    assert alice.get(f"/v1/evaluations/{kept['id']}").json() == {"evaluation": kept}


@pytest.mark.parametrize(
    "wanted",
    [
        {"field": "log_id", "operation": "eq", "value": FULL["log_id"]},
        {"field": "evaluator_id", "operation": "eq", "value": "external:tone"},
        {"field": "evaluation_type", "operation": "eq", "value": "client_evaluation"},
        {"field": "criteria", "operation": "eq", "value": "friendly"},
    ],
    ids=lambda wanted: wanted["field"],
)
def test_search_finds_it(alice: Caller, wanted: dict[str, Any]) -> None:
    (kept,) = send(alice, FULL)["evaluations"]
    alice.post("/v1/evaluate", {"evaluators": [{"evaluator": "exact-match"}], "output": "x", "label": "x", "app": "aa"})

    assert alice.post("/v1/evaluations/search", {"filters": [wanted]}).json()["evaluations"] == [kept]


def test_its_request_shows_that_it_is_external(alice: Caller) -> None:
    send(alice, FULL)
    (request,) = EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk)
    (result,) = alice.get(f"/v1/evaluate/{request.pk}").json()["results"]

    found = result["evaluation_result"]
    assert (found["external"], found["evaluation_type"]) == (True, "client_evaluation")
    assert (found["score_raw"], found["evaluation_metadata"]) == (0.75, FULL["metadata"])


def test_a_bare_row_is_enough(alice: Caller) -> None:
    (kept,) = send(alice, {"evaluator_id": "e", "log_id": "l", "pass": False})["evaluations"]

    assert (kept["app"], kept["criteria"], kept["project_id"]) == ("default", None, None)
    assert (kept["pass"], kept["score"]) == (False, 0.0)


def test_a_row_may_hold_text_alone(alice: Caller) -> None:
    (kept,) = send(alice, {"evaluator_id": "e", "log_id": "l", "text_output": "blue"})["evaluations"]

    assert (kept["pass"], kept["score"], kept["text_output"]) == (None, None, "blue")
    assert scores_of(alice, "external") == []


def test_a_managed_evaluator_s_history_cannot_be_written(alice: Caller) -> None:
    found = send(alice, row(evaluator_id="pii-2026-11-01"), row(evaluator_id="external:mine"))

    assert [kept["evaluator_id"] for kept in found["evaluations"]] == ["external:pii-2026-11-01", "external:mine"]
    assert scores_of(alice, "pii") == []


# The history


def test_scores_enter_the_history_of_their_evaluator_and_criteria(alice: Caller) -> None:
    send(alice, *(row(score=n, criteria="a") for n in (1, 2, -3.5)), row(score=9, criteria="b"), row(score=7))

    assert [(name, score) for name, score, _ in scores_of(alice, "external:tone")] == [
        ("a", 1.0),
        ("a", 2.0),
        ("a", -3.5),
        ("b", 9.0),
        ("", 7.0),
    ]


def test_the_history_of_scores_without_a_range_has_an_interval_on_request(alice: Caller) -> None:
    send(alice, *(row(score=n % 7 * 10, criteria="a", **{"pass": n % 7 > 2}) for n in range(40)))
    history = alice.get("/v1/history?evaluator=external:tone&profile=a").json()
    resampled = alice.get("/v1/history?evaluator=external:tone&profile=a&strategy=full-history").json()

    assert (history["n"], history["evaluator_id"], history["profile_name"]) == (40, "external:tone", "a")
    # A mean of scores that may have any size has none that can be trusted, but the history can be resampled.
    assert history["confidence_interval"]["lower"] is None
    assert history["confidence_interval"]["warnings"] == ["no_range"]
    interval = resampled["confidence_interval"]
    assert 0 < interval["lower"] < history["mean"] < interval["upper"] < 60
    assert history["points"][0]["evaluation_id"] is not None


EQUAL = "/v1/history?evaluator=external:tone&strategy="


@pytest.mark.parametrize("score", [0, 1, -2.5])
def test_equal_scores_without_a_range_have_no_width(alice: Caller, score: float) -> None:
    send(alice, *(row(score=score) for _ in range(25)))

    for strategy in ("full-history", "full-history-bca", "studentized"):
        interval = alice.get(EQUAL + strategy).json()["confidence_interval"]
        assert (interval["lower"], interval["median"], interval["upper"]) == (None, score, None)
        assert "degenerate" in interval["warnings"] and "value_range" in interval["reason"]


def test_equal_scores_with_a_declared_range_have_an_interval(alice: Caller) -> None:
    send(alice, *(row(score=0, value_range=[0, 1]) for _ in range(25)))

    by_default = alice.get("/v1/history?evaluator=external:tone").json()["confidence_interval"]
    assert by_default["lower"] == 0 and 0.05 < by_default["upper"] < 0.3
    resampled = alice.get(EQUAL + "full-history").json()["confidence_interval"]
    assert (resampled["lower"], resampled["upper"]) == (0, 0)
    assert resampled["advice"]["kind"] == "betting" and 0.05 < resampled["advice"]["upper"] < 0.3


def test_the_newest_score_declares_the_range(alice: Caller) -> None:
    send(alice, *(row(score=40, created_at="2026-01-01T00:00:00Z", value_range=[0, 50]) for _ in range(5)))
    send(alice, *(row(score=40, created_at="2026-02-01T00:00:00Z", value_range=[0, 100]) for _ in range(5)))
    betting = alice.get(EQUAL + "betting").json()["confidence_interval"]
    assert 50 < betting["upper"] < 100

    send(alice, row(score=1, created_at="2026-03-01T00:00:00Z", value_range=[0, 1]))
    betting = alice.get(EQUAL + "betting").json()["confidence_interval"]
    # Scores outside of it are not scores in that range.
    assert betting["lower"] is None and betting["reason"]


def test_a_range_that_is_not_sent_leaves_a_row_the_same(alice: Caller) -> None:
    same = row(log_id="one", created_at="2026-01-01T00:00:00Z")
    first = send(alice, same)["evaluations"][0]["id"]

    assert send(alice, {**same, "value_range": None})["evaluations"][0]["id"] == first
    assert send(alice, {**same, "value_range": [0, 1]})["evaluations"][0]["id"] != first


def test_a_history_without_criteria_is_one_too(alice: Caller) -> None:
    send(alice, row(score=3), row(score=4))

    assert alice.get("/v1/history?evaluator=external:tone").json()["mean"] == 3.5


def test_strategies_for_declared_scores_say_that_they_do_not_fit(alice: Caller) -> None:
    send(alice, row(score=0), row(score=1))
    interval = alice.get("/v1/history?evaluator=external:tone&strategy=wilson").json()["confidence_interval"]

    assert interval["lower"] is None
    assert interval["reason"]


def test_a_stranger_has_a_history_of_his_own(alice: Caller, charlie: Caller) -> None:
    send(alice, row(score=1), row(score=2))

    assert charlie.get("/v1/history?evaluator=external:tone").json()["n"] == 0


# Once


def test_the_same_batch_again_is_the_same_evaluations(alice: Caller) -> None:
    batch = [FULL, row(), row()]
    first, second = send(alice, *batch), send(alice, *batch)

    assert (first["n_new"], second["n_new"]) == (3, 0)
    assert first | {"n_new": 0} == second
    assert n_kept(alice) == len(scores_of(alice, "external:tone")) == 3


def test_a_retry_may_bring_new_rows_along(alice: Caller) -> None:
    old, new = row(), row()
    (kept,) = send(alice, old)["evaluations"]
    again = send(alice, new, old)["evaluations"]

    assert again[1] == kept
    assert again[0]["id"] != kept["id"]
    assert n_kept(alice) == 2


def test_the_same_row_twice_in_a_batch_is_one(alice: Caller) -> None:
    once, twice = send(alice, FULL, FULL)["evaluations"]

    assert once == twice
    assert n_kept(alice) == 1


def test_the_spelling_of_the_json_does_not_matter(alice: Caller) -> None:
    given = row(metadata={"a": 1, "b": 2}, evaluation_duration="PT1.5S")
    other = dict(reversed(given.items())) | {"metadata": {"b": 2, "a": 1}, "criteria": None}
    send(alice, given)
    raw = json.dumps({"evaluations": [other]}, indent=3).encode()

    assert alice.post(PATH, raw=raw).status_code == 200
    assert n_kept(alice) == 1


@pytest.mark.parametrize(
    "change", [{"score": 0.25}, {"criteria": "b"}, {"evaluator_id": "other"}, {"created_at": "2026-11-02T10:00:00Z"}]
)
def test_another_row_is_another_evaluation(alice: Caller, change: dict[str, Any]) -> None:
    send(alice, FULL)
    send(alice, FULL | change)

    assert n_kept(alice) == 2


def test_accounts_keep_the_same_row_apart(alice: Caller, charlie: Caller) -> None:
    (hers,), (his,) = send(alice, FULL)["evaluations"], send(charlie, FULL)["evaluations"]

    assert hers["id"] != his["id"]


def test_a_batch_sent_many_times_at_once_is_kept_once(alice: Caller) -> None:
    batch = [row() for _ in range(20)]
    start = threading.Barrier(4)

    def run(_: int) -> list[str]:
        start.wait()
        return [kept["id"] for kept in send(alice, *batch)["evaluations"]]

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(run, range(4)))

    assert len({tuple(ids) for ids in answers}) == 1
    assert len(scores_of(alice, "external:tone")) == 20


# Bad rows

BAD: list[tuple[Any, str]] = [
    ({}, ""),
    (7, ""),
    (None, ""),
    ({"evaluator_id": "e", "score": 1}, ""),
    ({"log_id": "l", "score": 1}, ""),
    (row(evaluator_id=""), "/evaluator_id"),
    (row(evaluator_id="x" * 92), "/evaluator_id"),
    (row(log_id=""), "/log_id"),
    (row(log_id=7), "/log_id"),
    (row(score="1"), "/score"),
    (row(score=True), "/score"),
    (row(score=1e16), "/score"),
    ({"evaluator_id": "e", "log_id": "l"}, "/score"),
    (row(**{"pass": "yes"}), "/pass"),
    (row(app="x"), "/app"),
    (row(criteria=""), "/criteria"),
    (row(criteria="x" * 121), "/criteria"),
    (row(experiment_id="x"), "/experiment_id"),
    (row(experiment_id="1"), "/experiment_id"),
    (row(evaluator_id="external:"), "/evaluator_id"),
    (row(project_id="x"), "/project_id"),
    (row(project_id=str(uuid.uuid4())), "/project_id"),
    (row(evaluation_duration="soon"), "/evaluation_duration"),
    (row(evaluation_duration="-PT1S"), "/evaluation_duration"),
    (row(evaluation_duration="P9999999D"), "/evaluation_duration"),
    (row(created_at="yesterday"), "/created_at"),
    (row(tags={"b": "c", "a": 1}), "/tags/a"),
    (row(metadata=[1]), "/metadata"),
    (row(metadata={"a": "\0"}), "/metadata/a"),
    (row(metadata={"a": 2**70}), "/metadata/a"),
    (row(trace_id="x" * 256), "/trace_id"),
    (row(explanation="a\0b"), "/explanation"),
    (row(value_range=[1, 0]), "/value_range"),
    (row(value_range=[0, 0]), "/value_range"),
    (row(value_range=[0, 1e300]), "/value_range"),
    (row(value_range=[0]), "/value_range"),
    (row(score=2, value_range=[0, 1]), "/score"),
]


@pytest.mark.parametrize(("bad", "pointer"), BAD)
def test_a_bad_row_costs_no_other(alice: Caller, bad: Any, pointer: str) -> None:
    found = send(alice, row(score=0.25), bad, row(score=0.75))

    assert [kept["score"] for kept in found["evaluations"]] == [0.25, 0.75]
    assert [error["index"] for error in found["errors"]] == [1]
    assert found["errors"][0]["pointer"] == f"/evaluations/1{pointer}"
    assert found["errors"][0]["detail"].endswith(".")
    assert len(scores_of(alice, "external")) == 2


@pytest.mark.parametrize("text", [b'"\\ud800"', b"1e999", b"[" * 100 + b"]" * 100, b"NaN-", b"01"])
def test_a_row_that_is_hardly_json_costs_no_other_or_all(alice: Caller, text: bytes) -> None:
    good = json.dumps(row()).encode()
    bad = b'{"evaluator_id": "e", "log_id": "l", "score": 1, "metadata": {"a": ' + text + b"}}"
    answer = alice.post(PATH, raw=b'{"evaluations": [' + good + b", " + bad + b"]}")

    if answer.status_code == 200:
        assert [error["index"] for error in answer.json()["errors"]] == [1]
    else:
        assert_problem(answer, "malformed_json")
        assert n_kept(alice) == 0


def test_all_rows_may_be_bad(alice: Caller) -> None:
    """An exporter would send a batch that failed for ever."""
    answer = alice.post(PATH, {"evaluations": [row(score="x"), row(app="x")]})

    assert answer.status_code == 200
    assert answer.json()["evaluations"] == []
    pointers = [error["pointer"] for error in answer.json()["errors"]]
    assert pointers == ["/evaluations/0/score", "/evaluations/1/app"]
    assert n_kept(alice) == 0


@pytest.mark.parametrize("body", [{}, {"evaluations": []}, {"evaluations": {}}, {"evaluations": [row()] * 1001}, []])
def test_no_list_of_1_to_1000_is_a_problem(alice: Caller, body: Any) -> None:
    assert_problem(alice.post(PATH, body), "validation_failed")


def test_broken_json_is_a_problem(alice: Caller) -> None:
    assert_problem(alice.post(PATH, raw=b'{"evaluations": [{]}'), "malformed_json")


def test_readers_are_refused(bob: Caller) -> None:
    assert_problem(bob.post(PATH, {"evaluations": [row()]}), "read_only_key")


# Where it belongs


def test_an_experiment_decides_the_project_and_leaves_the_app_empty(alice: Caller) -> None:
    experiment = new_experiment(alice)
    (kept,) = send(alice, row(experiment_id=str(experiment.pk), app="ignored"))["evaluations"]

    assert (kept["experiment_id"], kept["app"]) == (experiment.pk, None)
    assert kept["project_id"] == str(experiment.project_id)


def test_a_stranger_cannot_write_into_her_experiment(alice: Caller, charlie: Caller) -> None:
    experiment = new_experiment(alice)
    found = send(charlie, row(experiment_id=experiment.pk), row())

    assert [error["pointer"] for error in found["errors"]] == ["/evaluations/0/experiment_id"]


def test_a_batch_may_have_many_places_up_to_a_limit(alice: Caller) -> None:
    found = send(alice, *(row(app=f"app {n}") for n in range(102)))

    assert len(found["evaluations"]) == 100
    assert [error["index"] for error in found["errors"]] == [100, 101]


# At once


def test_a_thousand_rows_take_as_many_round_trips_as_one(alice: Caller) -> None:
    send(alice, row())
    counts = []
    for n in (1, 1000):
        with CaptureQueriesContext(connection) as queries:
            assert len(send(alice, *(row() for _ in range(n)))["evaluations"]) == n
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_the_answers_come_in_the_order_of_the_rows(alice: Caller) -> None:
    found = send(alice, *(row(score=n) for n in range(200)))["evaluations"]

    assert [kept["score"] for kept in found] == [float(n) for n in range(200)]
    assert len({kept["id"] for kept in found}) == 200


def test_the_books_are_in_order(alice: Caller) -> None:
    send(alice, FULL, row(), {"evaluator_id": "e", "log_id": "l", "text_output": "x"}, row(criteria="a"))

    assert findings(alice) == {}


def test_batches_that_bring_the_same_new_apps_in_another_order_are_all_kept(alice: Caller) -> None:
    names = [f"app-{n:02}" for n in range(40)]

    def send(i: int) -> int:
        rows = [{"evaluator_id": "mine", "log_id": f"{i}-{name}", "score": 1, "app": name} for name in names]
        body = {"evaluations": rows if i % 2 else rows[::-1]}
        return int(alice.post("/v1/evaluations/batch", body).status_code)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(send, range(4))) == {200}
