"""Which repeated calls are one evaluation: those that name the log or the span they are about."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from evalsvc.evaluations import store
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.scoring import Verdict
from evalsvc.evaluations.services import verdict_columns
from tests.conftest import Caller, scores_of

QUICK = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris", "app": "shop"}
SLOW = {"evaluators": [{"evaluator": "toxicity"}], "output": "Good morning.", "app": "shop"}
LOG = {"log_id": "6f0f1f5e-0f0a-4a4e-9d3c-0a9f6f1f4c11"}
SPAN = {"trace_id": "5b8efff798038103d269b633813fc60c", "span_id": "eee19b7ec3c1b174"}
OFF = {"log_id": None, "trace_id": "0" * 32, "span_id": "0" * 16}


def request_of(caller: Caller, body: dict[str, Any], **headers: str) -> str:
    """Evaluate and return the request's id."""
    answer = caller.post("/v1/evaluate", body, **headers)
    assert answer.status_code == 200, answer.content
    return str(answer.json()["id"])


@pytest.mark.parametrize("name", [LOG, SPAN, LOG | SPAN], ids=["log", "span", "both"])
def test_the_same_call_about_the_same_log_or_span_counts_once(alice: Caller, name: dict[str, str]) -> None:
    first = alice.post("/v1/evaluate", QUICK | name).json()
    again = alice.post("/v1/evaluate", QUICK | name).json()

    assert again["id"] == first["id"]
    assert again["results"] == first["results"]
    assert len(scores_of(alice, "exact-match")) == 1


@pytest.mark.parametrize(
    "name",
    [OFF, {"trace_id": SPAN["trace_id"]}, {"log_id": ""}, {"log_id": "00000000-0000-0000-0000-000000000000"}],
    ids=["tracing-off", "trace-alone", "empty", "nil"],
)
def test_an_id_that_names_nothing_makes_no_call_a_retry(alice: Caller, name: dict[str, Any]) -> None:
    assert request_of(alice, QUICK | name) != request_of(alice, QUICK | name)
    assert len(scores_of(alice, "exact-match")) == 2


@pytest.mark.parametrize(
    "change", [{"log_id": "another"}, {"output": "Rome"}, {"tags": {"try": "2"}}], ids=["log", "output", "tags"]
)
def test_another_body_is_another_evaluation(alice: Caller, change: dict[str, Any]) -> None:
    assert request_of(alice, QUICK | LOG) != request_of(alice, QUICK | LOG | change)
    assert len(scores_of(alice, "exact-match")) == 2


def test_nobody_s_log_is_another_account_s(alice: Caller, bob: Caller, charlie: Caller) -> None:
    assert request_of(alice, QUICK | LOG) != request_of(charlie, QUICK | LOG)
    assert (len(scores_of(alice, "exact-match")), len(scores_of(charlie, "exact-match"))) == (1, 1)
    assert bob.post("/v1/evaluate", QUICK | LOG).status_code == 403


def test_repeats_that_come_at_once_count_once(alice: Caller) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: request_of(alice, QUICK | LOG), range(8)))

    assert len(ids) == 1
    assert len(scores_of(alice, "exact-match")) == 1


def test_a_repeat_of_what_still_runs_joins_it(alice: Caller) -> None:
    first = alice.post("/v1/evaluate", SLOW | LOG, Prefer="respond-async")
    again = alice.post("/v1/evaluate", SLOW | LOG, Prefer="wait=0")

    assert (first.status_code, again.status_code) == (202, 200)
    assert again.json()["results"][0]["status"] == "pending"
    assert again.json()["id"] == first.json()["id"]


def fail(caller: Caller, request_id: str) -> None:
    """Be a worker whose evaluator could not finish."""
    verdict = Verdict(status="error", error_code="timeout", error_message="It took too long.")
    store.finish(caller.account.pk, int(request_id), [{"position": 0, **verdict_columns(verdict)}])


def test_an_error_is_not_repeated_but_evaluated_anew(alice: Caller) -> None:
    failed = request_of(alice, SLOW | LOG, Prefer="wait=0")
    fail(alice, failed)

    told = alice.post("/v1/evaluate", SLOW | LOG, Prefer="wait=0").json()
    assert (told["id"], told["results"][0]["status"]) == (failed, "error")
    anew = alice.post("/v1/evaluate", SLOW | LOG, Prefer="wait=0").json()
    assert (anew["id"] != failed, anew["results"][0]["status"]) == (True, "pending")


def test_a_new_idempotency_key_asks_for_a_new_evaluation(alice: Caller) -> None:
    first, second = (request_of(alice, QUICK | LOG, Idempotency_Key=key) for key in ("one", "two"))

    assert first != second
    assert len(scores_of(alice, "exact-match")) == 2


def test_after_ten_minutes_it_is_a_new_evaluation(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    first = request_of(alice, QUICK | LOG)
    later = timezone.now() + timedelta(minutes=11)
    monkeypatch.setattr("evalsvc.evaluations.api.evaluate.timezone.now", lambda: later)

    assert request_of(alice, QUICK | LOG) != first


def test_what_capture_kept_only_in_part_is_no_answer(alice: Caller) -> None:
    body = {"evaluators": [{"evaluator": "pii"}, {"evaluator": "exact-match"}], "output": "Paris", "label": "Rome"}
    body |= LOG | {"capture": "fails-only"}
    for headers in ({}, {"X_Stainless_Retry_Count": "1"}):
        answer = alice.post("/v1/evaluate", body, **headers).json()
        assert [result["evaluation_result"]["pass"] for result in answer["results"]] == [True, False]
    assert scores_of(alice, "") == []


def test_after_a_deletion_it_is_a_new_evaluation(alice: Caller) -> None:
    first = request_of(alice, QUICK | LOG)
    Evaluation.objects.using("system").filter(account_id=alice.account.pk).delete()

    assert request_of(alice, QUICK | LOG) != first


def test_what_keeps_nothing_looks_nothing_up(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.evaluations.api.evaluate.find_retried", lambda **_: pytest.fail("looked up"))

    answer = alice.post("/v1/evaluate", {**QUICK, **LOG, "capture": "none"})

    assert answer.json()["results"][0]["status"] == "success"
    assert EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk).count() == 0


def test_a_client_that_counts_its_tries_means_a_first_one_anew(alice: Caller) -> None:
    first = request_of(alice, QUICK | LOG, x_stainless_retry_count="0")
    second = request_of(alice, QUICK | LOG, x_stainless_retry_count="0")

    assert first != second
    assert request_of(alice, QUICK | LOG, x_stainless_retry_count="1") == second
    assert len(scores_of(alice, "exact-match")) == 2
