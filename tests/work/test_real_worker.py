"""What a real worker of the cpu lane is told, by a request or by a sweep, it scores."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings

from evalsvc.evaluations.models import Evaluation
from tests.conftest import Caller, scores_of, wait_until
from tests.factories import make_profile
from tests.work.keeping import pending

pytestmark = pytest.mark.usefixtures("worker")

KIND = "You are very kind."


def result_of(caller: Caller, evaluator: str, **fields: Any) -> dict[str, Any]:
    answer = caller.evaluate(evaluator, **fields)
    assert answer.status_code == 200, answer.content
    (result,) = answer.json()["results"]
    return result


def test_a_swept_evaluation_is_scored(alice: Caller) -> None:
    request_id = pending(alice, lease_seconds=-1)
    call_command("sweep")
    rows = Evaluation.objects.using("system").filter(request_id=request_id)
    wait_until(lambda: not rows.filter(status="pending").exists())

    assert rows.get().status == "success"
    assert len(scores_of(alice, "exact-match")) == 1


@override_settings(INLINE_LANE="worker")
def test_inline_families_can_be_sent_to_workers(alice: Caller) -> None:
    answer = alice.evaluate("exact-match", evaluated_model_output="a", evaluated_model_gold_answer="a")

    assert answer.json()["results"][0]["status"] == "success"
    assert answer.json()["results"][0]["evaluation_id"] is not None


def test_a_worker_answers_within_the_request(alice: Caller) -> None:
    answer = alice.evaluate("toxicity", "exact-match", output=KIND, label=KIND, app="work")

    assert [result["status"] for result in answer.json()["results"]] == ["success", "success"]
    assert len(scores_of(alice, "")) == 2


def test_toxicity_is_scored_by_a_worker(alice: Caller) -> None:
    make_profile(alice, "toxicity", "lenient", pass_threshold=0)
    output = "😀 You fucking idiot, shut up."
    clean = result_of(alice, "toxicity", output="12 + 30 = 42 😀", app="shop")["evaluation_result"]
    both = alice.evaluate("toxicity", "toxicity/lenient", output=output, app="shop").json()["results"]
    rude, let_through = (result["evaluation_result"] for result in both)

    assert (clean["pass"], clean["score_raw"], clean["additional_info"]["positions"]) == (True, 1.0, None)
    assert rude["pass"] is False
    assert 0 <= rude["score_raw"] < 0.5
    assert rude["additional_info"]["positions"] == [[0, len(output)]]
    assert (let_through["pass"], let_through["score_raw"]) == (True, rude["score_raw"])
    points = alice.get("/v1/history?evaluator=toxicity").json()["points"]
    assert [point["score"] for point in points] == [rude["score_raw"], 1.0]


@pytest.mark.parametrize(
    ("output", "language"),
    [
        ("Доброе утро, дорогие друзья", "ru"),
        ("今日は晴れです", "ja"),
        ("مرحبا بكم", "ar"),
        ("Tu es une ordure, tout le monde te déteste.", "fr"),
    ],
)
def test_toxicity_refuses_what_it_cannot_read(alice: Caller, output: str, language: str) -> None:
    result = result_of(alice, "toxicity", output=output, app="shop")

    assert (result["status"], result["error_code"]) == ("validation_error", "unsupported_language")
    assert result["error_info"]["language"]["detected"] == language
    assert result["evaluation_result"] is None
    assert alice.get("/v1/history?evaluator=toxicity").json()["n_total"] == 0


def finished_results(caller: Caller, id: str) -> list[dict[str, Any]] | None:
    """Return the results of a request, None while any is pending."""
    found: list[dict[str, Any]] = caller.get(f"/v1/evaluate/{id}").json()["results"]
    return None if any(result["status"] == "pending" for result in found) else found


def test_a_text_too_long_for_rouge_l_is_refused_and_leaves_no_score(alice: Caller) -> None:
    long = "字" * 110_000
    made = alice.evaluate("metrics/compute-rouge", "exact-match", output=long, label=long, app="shop").json()
    # On a machine that is busy the worker may need longer than the request waits.
    rouge, exact = wait_until(lambda: finished_results(alice, made["id"]))

    assert (rouge["status"], rouge["error_code"]) == ("validation_error", "input_too_long")
    assert (exact["status"], exact["evaluation_result"]["pass"]) == ("success", True)
    assert alice.get("/v1/history?evaluator=metrics&profile=compute-rouge").json()["n_total"] == 0
