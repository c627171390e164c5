"""/v1/evaluation-results: results made elsewhere with their inputs, and read again."""

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
from tests.evaluations.sent_results import FULL, PATH, kept, n_kept, row, send
from tests.factories import new_experiment
from tests.rest.shapes import assert_problem

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
