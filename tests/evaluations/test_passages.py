"""Passages with ids and grades, several golds and placed answers through the API: scored, echoed, kept, and queued."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.evaluations.evaluate.stored import get_stored
from evalsvc.evaluations.models import EvaluationRequest
from evalsvc.evaluations.wire.inputs import sample_from_row
from evaluators.base import Passage
from tests.conftest import Caller
from tests.rest.shapes import assert_problem

CONTEXTS = [{"id": "d2", "text": "Lyon"}, {"id": "d1", "text": "Paris", "relevance": 0.9, "metadata": {"page": 3}}]
GRADES = [{"id": "d1", "relevance": 2}, {"id": "d7", "relevance": 1}]


def result(caller: Caller, evaluator: str, **fields: Any) -> dict[str, Any]:
    (found,) = caller.evaluate(evaluator, **fields).json()["results"]
    return dict(found)


def test_ranking_metrics_need_neither_input_nor_output(alice: Caller) -> None:
    found = result(alice, "metrics/ndcg-at-3", task_context=CONTEXTS, gold_context=GRADES)

    extra = found["evaluation_result"]["additional_info"]["extra"]
    assert (found["status"], extra["matched_by"], extra["hits"]) == ("success", "id", [{"rank": 2, "grade": 2.0}])
    assert found["evaluation_result"]["evaluated_model_retrieved_context"] == CONTEXTS
    assert found["evaluation_result"]["evaluated_model_gold_context"] == GRADES


@pytest.mark.parametrize("fields", [{}, {"gold_answer": "a"}, {"task_context": ["a"]}, {"gold_context": ["a"]}])
def test_something_must_be_there_to_be_judged(alice: Caller, fields: dict[str, Any]) -> None:
    response = alice.evaluate("metrics/mrr", **fields)

    assert_problem(response, "validation_failed", "/evaluated_model_output")


def test_two_of_six_through_the_api(alice: Caller) -> None:
    found = result(alice, "metrics/ndcg", task_context=["1", "2"], gold_context=["1", "2", "3", "4", "5", "6"])

    assert found["evaluation_result"]["score_raw"] == pytest.approx(0.4935, abs=1e-4)


def test_a_negative_grade_is_not_relevant(alice: Caller) -> None:
    grades = [{"id": "a", "relevance": 1}, {"id": "b", "relevance": -2}]
    found = result(alice, "metrics/ndcg", task_context=[{"id": "b"}, {"id": "a"}], gold_context=grades)

    assert found["evaluation_result"]["score_raw"] == pytest.approx(0.6309, abs=1e-4)
    assert found["evaluation_result"]["additional_info"]["extra"]["n_relevant"] == 1
    assert found["evaluation_result"]["evaluated_model_gold_context"] == grades


def test_what_was_sent_comes_back_from_the_database(alice: Caller, bob: Caller, charlie: Caller) -> None:
    sent = {
        "task_output": {"text": "Paris", "document_id": "d1", "start": 0, "end": 5},
        "gold_answers": ["Lutetia", {"text": "Paris", "document_id": "d1", "start": 0}],
        "task_context": [*CONTEXTS, "bare"],
        "gold_context": GRADES,
        "top_k_context": ["a", {"id": "b"}],
    }
    body = {"evaluators": [{"evaluator": "exact-match"}], "capture": "all", **sent}
    answered = alice.post("/v1/evaluate", body).json()
    stored = alice.get(f"/v1/evaluate/{answered['id']}").json()

    now, later = (one["results"][0]["evaluation_result"] for one in (answered, stored))
    assert now["pass"] is True
    assert now["additional_info"]["extra"] == {"gold_index": 1}
    for name in ("output", "gold_answers", "gold_context", "top_k_context"):
        spelled = next(key for key in sent if key.endswith(name))
        assert now[f"evaluated_model_{name}"] == later[f"evaluated_model_{name}"] == sent[spelled]
    assert now["evaluated_model_retrieved_context"] == later["evaluated_model_retrieved_context"] == [*CONTEXTS, "bare"]
    assert now["evaluated_model_gold_answer"] == later["evaluated_model_gold_answer"] == "Lutetia"
    assert charlie.get(f"/v1/evaluate/{answered['id']}").status_code == 404


def test_workers_see_what_was_sent(alice: Caller) -> None:
    body = {"evaluators": [{"evaluator": "exact-match"}], "capture": "all", "output": 7, "gold_answers": [7.0, True]}
    request_id = int(alice.post("/v1/evaluate", {**body, "task_context": CONTEXTS}).json()["id"])

    sample = sample_from_row(get_stored(account_id=alice.account.pk, request_id=request_id).request)

    assert (sample.output, sample.answer.value if sample.answer else None) == ("7", 7)
    assert [gold.value for gold in sample.golds or ()] == [7.0, True]
    assert sample.contexts == (Passage("Lyon", "d2"), Passage("Paris", "d1", 0.9, {"page": 3}))


def test_requests_of_earlier_versions_are_read_as_they_were() -> None:
    extras = {"gold_contexts": ["a", "b"], "gold_relevance": [1.0, 3.0], "top_k_contexts": ["c"]}
    row = EvaluationRequest(input="i", output="o", contexts=["x"], gold="g", extras=extras)

    sample = sample_from_row(row)

    assert sample.gold_contexts == (Passage("a", relevance=1.0), Passage("b", relevance=3.0))
    assert (sample.top_k_texts, sample.context_texts, sample.gold) == (("c",), ("x",), "g")


def test_one_unreadable_field_costs_only_who_reads_it(alice: Caller) -> None:
    answered = alice.evaluate("pii", "metrics/mrr", output="Call me.", task_context=5, gold_context=["a"]).json()

    pii, mrr = answered["results"]
    assert pii["status"] == "success"
    assert (mrr["status"], mrr["error_code"]) == ("validation_error", "wrong_type")
    assert "`evaluated_model_retrieved_context` is the number 5" in mrr["error_message"]


def test_an_unreadable_field_is_kept_as_it_came(alice: Caller) -> None:
    body = {"evaluators": [{"evaluator": "pii"}], "capture": "all", "output": "x", "gold_answer": {"a": 1, "b": [2]}}
    request_id = alice.post("/v1/evaluate", body).json()["id"]
    (stored,) = alice.get(f"/v1/evaluate/{request_id}").json()["results"]

    assert stored["evaluation_result"]["evaluated_model_gold_answer"] == {"a": 1, "b": [2]}


def test_ids_alone_are_no_texts(alice: Caller) -> None:
    fields: dict[str, Any] = {"input": "q", "output": "a", "task_context": [{"id": "d1"}], "gold_context": {"d1": 1}}
    answered = alice.evaluate("retrieval-hallucination", "metrics/mrr", **fields).json()

    read, ranked = answered["results"]
    assert (read["status"], read["error_code"]) == ("validation_error", "wrong_type")
    assert "known by their ids alone" in read["error_message"]
    assert ranked["evaluation_result"]["score_raw"] == 1.0
