"""What is kept: `all`, `always`, `fails-only`, `none`, and what each leaves in search and in the history."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.workers.lane import work_off
from tests.conftest import Caller, scores_of
from tests.factories import new_experiment


def capture(caller: Caller, *golds: str, **fields: Any) -> list[dict[str, Any]]:
    """Evaluate "Paris" against each gold answer; return the verdicts."""
    answers = [caller.evaluate("exact-match", output="Paris", label=gold, **fields) for gold in golds]
    return [answer.json()["results"][0]["evaluation_result"] for answer in answers]


def found_by_search(caller: Caller) -> list[tuple[str, bool]]:
    rows = caller.post("/v1/evaluations/search", {}).json()["evaluations"]
    return [(row["id"], row["pass"]) for row in rows]


@pytest.mark.parametrize("word", ["all", "always"])
def test_all_keeps_every_score(alice: Caller, word: str) -> None:
    kept = capture(alice, "Paris", "Rome", capture=word)

    assert found_by_search(alice) == [(kept[1]["id"], False), (kept[0]["id"], True)]
    assert scores_of(alice, "exact-match") == [
        ("patronus:exact-match", 1.0, int(kept[0]["id"])),
        ("patronus:exact-match", 0.0, int(kept[1]["id"])),
    ]


def test_fails_only_keeps_fails_and_leaves_the_history_alone(alice: Caller) -> None:
    passed, failed = capture(alice, "Paris", "Rome", capture="fails-only", app="shop")

    assert (passed["id"], passed["app"]) == (None, None)
    assert failed["app"] == "shop"
    assert found_by_search(alice) == [(failed["id"], False)]
    assert scores_of(alice, "exact-match") == []


def test_none_outranks_app_and_leaves_no_row(alice: Caller) -> None:
    capture(alice, "Paris", "Rome", capture="none", app="shop")

    assert found_by_search(alice) == []
    assert not EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk).exists()


TEXTS = ("input", "output", "contexts", "gold", "system_prompt", "extras", "tags")


def stored_texts(request_id: str) -> dict[str, Any]:
    """Return the texts of a stored request that are not blank."""
    row = EvaluationRequest.objects.using("system").values(*TEXTS).get(pk=int(request_id))
    return {name: text for name, text in row.items() if text is not None}


@pytest.mark.parametrize("word", ["none", "fails-only"])
def test_what_is_not_captured_is_blanked_with_its_last_verdict(alice: Caller, word: str) -> None:
    body = {
        "evaluators": [{"evaluator": "toxicity"}],
        "output": "Good morning.",
        "tags": {"team": "a"},
        "capture": word,
    }
    made = alice.post("/v1/evaluate", body, Prefer="respond-async").json()
    assert stored_texts(made["id"]) == {"output": "Good morning.", "tags": {"team": "a"}}
    work_off(account_id=alice.account.pk, request_id=int(made["id"]), lane="cpu", expected_attempts=0)

    assert stored_texts(made["id"]) == {}
    (result,) = alice.get(f"/v1/evaluate/{made['id']}").json()["results"]
    assert (result["status"], result["evaluation_result"]["pass"]) == ("success", True)


@pytest.mark.parametrize("word", ["none", "fails-only"])
def test_inline_verdicts_that_are_not_captured_leave_no_text(alice: Caller, word: str) -> None:
    body = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris", "capture": word}
    made = alice.post("/v1/evaluate", body, Prefer="respond-async").json()

    assert stored_texts(made["id"]) == {}
    assert alice.get(f"/v1/evaluate/{made['id']}").json()["results"][0]["status"] == "success"


def test_a_captured_fail_keeps_its_texts(alice: Caller) -> None:
    body = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Rome", "capture": "fails-only"}
    made = alice.post("/v1/evaluate", body, Prefer="respond-async").json()

    assert stored_texts(made["id"]) == {"output": "Paris", "gold": "Rome"}


@pytest.mark.parametrize(("place", "n_kept"), [("", 0), ("app", 1), ("experiment_id", 1), ("project_name", 0)])
def test_the_default_is_all_with_app_or_experiment_and_else_none(alice: Caller, place: str, n_kept: int) -> None:
    values = {"app": "shop", "experiment_id": str(new_experiment(alice).pk), "project_name": "checkout"}
    capture(alice, "Paris", **({place: values[place]} if place else {}))

    assert len(scores_of(alice, "exact-match")) == n_kept


def test_what_could_not_run_is_kept_without_a_score(alice: Caller) -> None:
    alice.evaluate("exact-match", "nobody", output="Paris", app="shop")

    rows = Evaluation.objects.using("system").filter(account_id=alice.account.pk).order_by("position")
    assert [(row.status, row.error_code, row.score, row.captured, row.in_history) for row in rows] == [
        ("validation_error", "missing_input", None, True, False),
        ("validation_error", "unknown_evaluator", None, False, False),
    ]
    assert scores_of(alice, "exact-match") == []


def test_a_kept_evaluation_is_read_by_its_id(alice: Caller, bob: Caller, charlie: Caller) -> None:
    (kept,) = capture(alice, "Rome", app="shop", log_id="log-1", tags={"team": "a"}, trace_id="t", span_id="s")

    row = bob.get(f"/v1/evaluations/{kept['id']}").json()["evaluation"]
    assert {name: row[name] for name in ("log_id", "tags", "trace_id", "span_id")} == {
        "log_id": "log-1",
        "tags": {"team": "a"},
        "trace_id": "t",
        "span_id": "s",
    }
    assert (row["score"], row["pass"], row["evaluation_type"]) == (0.0, False, "patronus_evaluation")
    assert (row["criteria"], row["criteria_revision"]) == ("patronus:exact-match", 1)
    assert charlie.get(f"/v1/evaluations/{kept['id']}").status_code == 404


def test_a_kept_request_is_read_again_as_it_was_answered(alice: Caller) -> None:
    fields = {"output": "Paris", "label": "Rome", "app": "shop", "confidence_interval_strategy": "full-history"}
    for _ in range(3):
        answer = alice.evaluate("exact-match", "nobody", "pii", tags={"a": "b"}, **fields).json()

    again = alice.get(f"/v1/evaluate/{answer['id']}").json()
    assert again == answer
    assert [result["status"] for result in again["results"]] == ["success", "validation_error", "success"]
    assert again["results"][0]["evaluation_result"]["additional_info"]["confidence_interval"]["n"] == 2


def test_numbers_that_are_echoed_are_stored_as_they_were(alice: Caller) -> None:
    sent = {"large": 1.7976931348623157e308, "small": 5e-324, "list": [-1e25, 2**64 - 1, -(2**63), True, None, 0.1]}
    fields = {"output": "x", "label": "x", "app": "shop", "evaluated_model_params": sent}
    answer = alice.evaluate("exact-match", **fields).json()

    again = alice.get(f"/v1/evaluate/{answer['id']}").json()
    assert again["results"][0]["evaluation_result"]["evaluated_model_params"] == sent
    assert again["results"] == answer["results"]


def test_a_request_that_kept_nothing_has_no_address(alice: Caller) -> None:
    answer = alice.evaluate("exact-match", output="Paris", label="Paris").json()

    assert answer["id"] is None
    assert alice.get("/v1/evaluate/1").status_code == 404
