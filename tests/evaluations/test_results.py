"""/v1/evaluation-results: results made elsewhere with their inputs, read again, searched."""

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
from evalsvc.evaluations.search import pages as searching
from evalsvc.evaluations.search import results as result_search
from tests.conftest import Caller, findings, scores_of
from tests.factories import new_experiment
from tests.rest.shapes import assert_problem

PATH = "/v1/evaluation-results/batch"
FULL = {
    "evaluator_id": "tone",
    "criteria": "friendly",
    "pass": True,
    "score_raw": 0.75,
    "text_output": "warm",
    "explanation": "It says please.",
    "evaluated_model_system_prompt": "Be kind.",
    "evaluated_model_retrieved_context": ["one", "two"],
    "evaluated_model_input": "May I?",
    "evaluated_model_output": "Please do.",
    "evaluated_model_gold_answer": "Yes.",
    "evaluated_model_attachments": [{"url": "https://a.example/b.png", "media_type": "image/png", "usage_type": "x"}],
    "evaluated_model_name": "m",
    "evaluated_model_provider": "p",
    "evaluated_model_params": {"temperature": 0.5},
    "evaluated_model_selected_model": "m-1",
    "evaluation_metadata": {"by": "hand", "big": 1e300},
    "evaluation_duration": "PT0.216S",
    "explanation_duration": "P1DT2H",
    "dataset_id": "d-1",
    "dataset_sample_id": 7,
    "tags": {"team": "a"},
    "app": "cart",
}


def row(**fields: Any) -> dict[str, Any]:
    return {"evaluator_id": "tone", "score_raw": 0.5} | fields


def send(caller: Caller, *rows: Any, **headers: str) -> dict[str, Any]:
    answer = caller.post(PATH, {"evaluation_results": list(rows)}, **headers)
    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert set(found) - {"warnings"} == {"evaluation_results", "errors"}
    return found


def kept(caller: Caller, *rows: Any, **headers: str) -> list[dict[str, Any]]:
    found = send(caller, *rows, **headers)
    assert found["errors"] == []
    return found["evaluation_results"]


def n_kept(caller: Caller) -> int:
    return Evaluation.objects.using("system").filter(account_id=caller.account.pk).count()


# The batch


def test_it_answers_with_the_result_and_its_inputs(alice: Caller) -> None:
    (result,) = kept(alice, FULL)

    same = {name: value for name, value in FULL.items() if name not in ("evaluator_id", "explanation_duration")}
    assert {name: result[name] for name in same} == same
    assert result["evaluator_id"] == "external:tone"
    assert result["explanation_duration"] == "PT93600S"
    assert (result["profile_name"], result["score_normalized"]) == ("friendly", 0.75)
    assert (result["external"], result["evaluation_type"]) == (True, "client_evaluation")
    assert (result["favorite"], result["evaluation_feedback"]) == (False, None)
    assert result["id"].isdigit()


def test_it_is_read_again_by_its_id(alice: Caller, bob: Caller, charlie: Caller) -> None:
    (result,) = kept(alice, FULL)
    path = f"/v1/evaluation-results/{result['id']}"

    assert alice.get(path).json() == bob.get(path).json() == {"evaluation_result": result}
    assert_problem(charlie.get(path), "not_found")
    evaluation = alice.get(f"/v1/evaluations/{result['id']}").json()["evaluation"]
    assert (evaluation["score"], evaluation["metadata"]) == (0.75, FULL["evaluation_metadata"])


def test_the_answer_has_every_key_of_an_evaluate_answer(alice: Caller) -> None:
    evaluated = alice.evaluate("exact-match", output="a", label="a", app="shop").json()["results"][0]
    (result,) = kept(alice, row())

    assert set(result) == set(evaluated["evaluation_result"])
    read = alice.get(f"/v1/evaluation-results/{evaluated['evaluation_id']}").json()["evaluation_result"]
    assert read == evaluated["evaluation_result"]


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"score": 0.25, "score_raw": None}, {"score_raw": 0.25}),
        ({"score": 0.25, "score_raw": 1}, {"score_raw": 1.0}),
        ({"profile_name": "p"}, {"criteria": "p", "profile_name": "p"}),
        ({"criteria": "c", "profile_name": "p"}, {"criteria": "c"}),
        ({}, {"criteria": "", "app": "default", "experiment_id": None, "dataset_sample_id": None, "tags": {}}),
        ({"evaluated_model_retrieved_context": "one"}, {"evaluated_model_retrieved_context": ["one"]}),
        ({"task_input": "q", "output": "a"}, {"evaluated_model_input": "q", "evaluated_model_output": "a"}),
        ({"evaluated_model_id": 12}, {"evaluated_model_id": 12}),
        ({"score_raw": None, "pass": False}, {"score_raw": 0.0, "pass": False}),
        ({"score_raw": None, "text_output": "blue"}, {"score_raw": None, "pass": None, "text_output": "blue"}),
        ({"dataset_sample_id": "x"}, {"dataset_sample_id": None}),
        ({"unknown": 1}, {"score_raw": 0.5}),
        ({"evaluation_duration": "PT0S"}, {"evaluation_duration": "PT0S"}),
    ],
    ids=str,
)
def test_spellings_and_defaults(alice: Caller, fields: dict[str, Any], shown: dict[str, Any]) -> None:
    (result,) = kept(alice, row(**fields))

    assert {name: result[name] for name in shown} == shown


def test_its_request_shows_the_inputs(alice: Caller) -> None:
    kept(alice, FULL)
    (request,) = EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk)
    (result,) = alice.get(f"/v1/evaluate/{request.pk}").json()["results"]

    assert result["evaluation_result"]["evaluated_model_output"] == "Please do."
    assert (request.input, request.contexts, request.dataset_sample_id) == ("May I?", ["one", "two"], "7")


def test_scores_enter_the_history_that_intervals_are_of(alice: Caller) -> None:
    kept(alice, *(row(score_raw=n, criteria="a") for n in range(5)), row(score_raw=None, text_output="none"))

    history = alice.get("/v1/history?evaluator=external:tone&profile=a").json()
    assert (history["n"], history["mean"]) == (5, 2.0)
    assert len(scores_of(alice, "external:tone")) == 5


def test_an_experiment_decides_the_place(alice: Caller, charlie: Caller) -> None:
    experiment = new_experiment(alice)
    (result,) = kept(alice, row(experiment_id=str(experiment.pk), app=None))

    assert (result["experiment_id"], result["app"]) == (str(experiment.pk), None)
    assert result["project_id"] == str(experiment.project_id)
    (error,) = send(charlie, row(experiment_id=str(experiment.pk)))["errors"]
    assert error["pointer"] == "/evaluation_results/0/experiment_id"


# Once, and twice where it is meant


def test_the_same_batch_again_is_a_retry(alice: Caller) -> None:
    first, second = kept(alice, FULL, row()), kept(alice, FULL, row())

    assert first == second
    assert n_kept(alice) == len(scores_of(alice, "external:tone")) == 2


def test_equal_rows_of_a_batch_are_several(alice: Caller) -> None:
    """The same sample, twice in a run: that is two scores."""
    results = kept(alice, row(), row(), row())
    again = kept(alice, row(), row(), row())

    assert len({result["id"] for result in results}) == 3
    assert again == results


def test_a_row_may_come_again_in_another_batch(alice: Caller) -> None:
    kept(alice, row())
    kept(alice, row(), row(score_raw=1))

    assert n_kept(alice) == 3


def test_the_same_batch_after_ten_minutes_is_a_new_one(alice: Caller) -> None:
    (first,) = kept(alice, row())
    minutes = (11 * 60 * 1000) << 22
    rows = EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk)
    old = rows.get().pk
    rows.update(id=old - minutes)
    Evaluation.objects.using("system").filter(request_id=old).update(request_id=old - minutes)
    (second,) = kept(alice, row())

    assert first["id"] != second["id"]
    assert len(scores_of(alice, "external:tone")) == 2


@pytest.mark.parametrize(
    ("headers", "n"),
    [
        ([{}, {"x_stainless_retry_count": "1"}], 1),
        ([{"x_stainless_retry_count": "0"}, {"x_stainless_retry_count": "1"}], 1),
        ([{"x_stainless_retry_count": "0"}, {"x_stainless_retry_count": "0"}], 2),
        ([{"idempotency_key": "a"}, {"idempotency_key": "a"}], 1),
        ([{"idempotency_key": "a"}, {"idempotency_key": "b"}], 2),
    ],
    ids=["counted", "counted from 0", "both first", "one key", "two keys"],
)
def test_what_a_client_says_of_its_retries_decides(alice: Caller, headers: list[dict[str, str]], n: int) -> None:
    found = [kept(alice, row(), **said)[0]["id"] for said in headers]

    assert len(set(found)) == n_kept(alice) == n


def test_a_row_that_names_its_log_is_kept_once_for_ever(alice: Caller) -> None:
    named = row(log_id=str(uuid.uuid4()))
    (first,) = kept(alice, named, x_stainless_retry_count="0")
    second, _ = kept(alice, named, row(), x_stainless_retry_count="0")

    assert first == second
    assert n_kept(alice) == 2


def test_a_log_of_zeros_is_no_name(alice: Caller) -> None:
    zeros = row(log_id=str(uuid.UUID(int=0)))

    assert len({result["id"] for result in kept(alice, zeros, zeros)}) == 2


def test_a_batch_sent_many_times_at_once_is_kept_once(alice: Caller) -> None:
    start = threading.Barrier(4)

    def run(_: int) -> tuple[str, ...]:
        start.wait()
        return tuple(result["id"] for result in kept(alice, *(row() for _ in range(20))))

    with ThreadPoolExecutor(4) as pool:
        answers = set(pool.map(run, range(4)))

    assert len(answers) == 1
    assert len(scores_of(alice, "external:tone")) == 20


def test_accounts_keep_the_same_batch_apart(alice: Caller, charlie: Caller) -> None:
    (hers,), (his,) = kept(alice, FULL), kept(charlie, FULL)

    assert hers["id"] != his["id"]


# Bad rows

BAD: list[tuple[Any, str]] = [
    ({}, ""),
    (7, ""),
    (None, ""),
    ({"score_raw": 1}, ""),
    (row(evaluator_id=None), "/evaluator_id"),
    (row(evaluator_id="external:"), "/evaluator_id"),
    (row(evaluator_id="x" * 92), "/evaluator_id"),
    ({"evaluator_id": "e"}, "/score_raw"),
    (row(score_raw="high"), "/score_raw"),
    (row(score_raw=1e16), "/score_raw"),
    (row(score_raw=None, score=-1e16), "/score"),
    (row(score_raw=10**400), "/score_raw"),
    (row(**{"pass": "yes"}), "/pass"),
    (row(criteria=""), "/criteria"),
    (row(profile_name="x" * 121), "/profile_name"),
    (row(app="x"), "/app"),
    (row(experiment_id="abc"), "/experiment_id"),
    (row(experiment_id="12"), "/experiment_id"),
    (row(project_id=str(uuid.uuid4())), "/project_id"),
    (row(log_id="x" * 256), "/log_id"),
    (row(dataset_sample_id=1.5), "/dataset_sample_id"),
    (row(evaluation_duration="-PT1S"), "/evaluation_duration"),
    (row(tags={"a": 1}), "/tags/a"),
    (row(evaluation_metadata={"a": "\0"}), "/evaluation_metadata/a"),
    (row(evaluated_model_input="a\0"), "/evaluated_model_input"),
    (row(evaluated_model_input={"a": 7, "b": 8}), "/evaluated_model_input"),
    (row(evaluated_model_retrieved_context=["x"] * 51), "/evaluated_model_retrieved_context"),
    (row(evaluated_model_retrieved_context=[1]), "/evaluated_model_retrieved_context"),
    (row(evaluated_model_output="x" * 480_001), ""),
    (row(evaluated_model_attachments={}), "/evaluated_model_attachments"),
    (row(evaluated_model_attachments=[{"url": "x"}]), "/evaluated_model_attachments/0"),
]


@pytest.mark.parametrize(("bad", "pointer"), BAD, ids=range(len(BAD)))
def test_a_bad_row_costs_no_other(alice: Caller, bad: Any, pointer: str) -> None:
    found = send(alice, row(score_raw=0.25), bad, row(score_raw=0.75))

    assert [result["score_raw"] for result in found["evaluation_results"]] == [0.25, 0.75]
    assert {error["index"] for error in found["errors"]} == {1}
    assert found["errors"][0]["pointer"] == f"/evaluation_results/1{pointer}"
    assert found["errors"][0]["detail"].endswith(".")
    assert len(scores_of(alice, "external")) == 2


@pytest.mark.parametrize(
    "body",
    [{}, {"evaluation_results": []}, {"evaluation_results": {}}, {"evaluation_results": [row()] * 1001}, []],
    ids=["nothing", "empty", "object", "too many", "list"],
)
def test_no_list_of_1_to_1000_is_a_problem(alice: Caller, body: Any) -> None:
    assert_problem(alice.post(PATH, body), "validation_failed")
    assert n_kept(alice) == 0


@pytest.mark.parametrize("raw", [b"{", b'{"evaluation_results": [{]}', b"\xff", b""], ids=range(4))
def test_broken_json_is_a_problem(alice: Caller, raw: bytes) -> None:
    assert_problem(alice.post(PATH, raw=raw), "malformed_json")


def test_readers_are_refused(bob: Caller) -> None:
    assert_problem(bob.post(PATH, {"evaluation_results": [row()]}), "read_only_key")


def test_a_thousand_rows_take_as_many_round_trips_as_one(alice: Caller) -> None:
    kept(alice, row())
    counts = []
    for n in (1, 1000):
        with CaptureQueriesContext(connection) as queries:
            assert len(kept(alice, *(row(score_raw=i) for i in range(n)))) == n
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_the_books_are_in_order(alice: Caller) -> None:
    kept(alice, FULL, row(), row(score_raw=None, text_output="x"), row(log_id="a"))

    assert findings(alice) == {}


def test_an_exporter_s_body_is_understood(alice: Caller) -> None:
    """As the export call of the `patronus` package writes it: every key, most of them null."""
    from patronus.api import api_types

    given = api_types.ExportEvaluationResult(
        evaluator_id="my tone!", criteria="c", score_raw=0.5, pass_=True, dataset_sample_id=3,
        evaluation_duration=1.25, evaluated_model_retrieved_context=["x"], tags={"a": "b"},
        evaluated_model_attachments=[api_types.EvaluatedModelAttachment(url="https://a.example", media_type="x/y")],
    )  # fmt: skip
    body = api_types.ExportEvaluationRequest(evaluation_results=[given]).model_dump_json(by_alias=True)
    answer = alice.post(PATH, raw=body.encode())
    read = api_types.ExportEvaluationResponse.model_validate(json.loads(answer.content))

    assert read.evaluation_results[0].evaluator_id == "external:my-tone-"
    (result,) = answer.json()["evaluation_results"]
    assert (result["evaluation_duration"], result["dataset_sample_id"], result["app"]) == ("PT1.25S", 3, "default")
    assert result["evaluated_model_attachments"][0]["url"] == "https://a.example"


def test_a_failed_evaluation_is_no_result(alice: Caller) -> None:
    (result,) = alice.evaluate("exact-match", output="a", app="shop").json()["results"]

    assert (result["status"], result["evaluation_id"] is None) == ("validation_error", False)
    assert alice.get(f"/v1/evaluations/{result['evaluation_id']}").status_code == 200
    assert_problem(alice.get(f"/v1/evaluation-results/{result['evaluation_id']}"), "not_found")


# Search

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
        ({"evaluator_id": "exact-match-2026-11-01"}, [0]),
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
    monkeypatch.setattr("evalsvc.evaluations.search.results.MAX_TEXT", 1000)
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
    from evalsvc.rest.pagination import by_time
    from evalsvc.tenancy.scope import account_scope

    with account_scope(caller.account.pk), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        rows = Evaluation.objects.filter(
            result_condition(caller.account, wanted), account=caller.account, captured=True
        )
        ordered = by_time(rows.filter(status="success"), oldest_first=wanted.get("order") == "+created_at")
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
        ({"limit": 0}, "/limit"),
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
        return searching.requests_of(**wanted)

    monkeypatch.setattr(result_search, "requests_of", requests_of)
    answer = alice.post("/v1/evaluation-results/search", {"order": order})
    assert answer.status_code == 200, answer.content
    assert [found["id"] for found in answer.json()["results"]] == [results[2]["id"], results[0]["id"]]
