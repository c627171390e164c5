"""`Prefer`, pending work and retries. No worker runs here: toxicity stays pending until it is worked off by hand."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from evalsvc.evaluations.models import EvaluationRequest
from evalsvc.evaluations.wire.prefer import read_prefer
from evalsvc.evaluations.workers.lane import work_off
from tests.conftest import Caller, scores_of

SLOW = {"evaluators": [{"evaluator": "toxicity"}, {"evaluator": "pii"}], "output": "Good morning.", "app": "shop"}
QUICK = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris", "app": "shop"}


@pytest.mark.parametrize(
    ("header", "seconds", "respond_async", "applied"),
    [
        ("", 25, False, ""),
        ("wait=5", 5, False, "wait=5"),
        ("Wait = 5", 5, False, "wait=5"),
        ('wait="7"', 7, False, "wait=7"),
        ("wait=0", 0, False, "wait=0"),
        ("wait=005", 5, False, "wait=5"),
        ("wait=61", 60, False, "wait=60"),
        ("wait=999999", 60, False, "wait=60"),
        ("respond-async", 0, True, "respond-async"),
        ("Respond-Async, wait=3", 3, True, "respond-async, wait=3"),
        ("wait=3,respond-async", 3, True, "respond-async, wait=3"),
        ("handling=lenient, wait=3; foo=bar", 3, False, "wait=3"),
        ("wait=3, wait=9", 3, False, "wait=3"),
        ("wait=-1", 25, False, ""),
        ("wait=1.5", 25, False, ""),
        ("wait=", 25, False, ""),
        ("wait=\u0663", 25, False, ""),
        ("wait=99999999999999999999", 25, False, ""),
        ("no-respond-async", 25, False, ""),
        ("await=3", 25, False, ""),
        ("wait=3\r\nSet-Cookie: a=b", 25, False, ""),
        ("," * 100_000, 25, False, ""),
    ],
)
def test_it_reads_prefer(header: str, seconds: float, respond_async: bool, applied: str) -> None:
    with override_settings(WAIT_SECONDS=25, MAX_WAIT_SECONDS=60):
        prefer = read_prefer(header)

    assert (prefer.seconds, prefer.respond_async, prefer.applied) == (seconds, respond_async, applied)


def work(caller: Caller, request_id: str) -> None:
    """Be the worker."""
    work_off(account_id=caller.account.pk, request_id=int(request_id), lane="cpu", expected_attempts=9)


def statuses(answer: Any) -> list[str]:
    return [result["status"] for result in answer.json()["results"]]


def n_requests(caller: Caller) -> int:
    return EvaluationRequest.objects.using("system").filter(account_id=caller.account.pk).count()


def test_what_takes_longer_than_the_caller_waits_is_pending(alice: Caller) -> None:
    answer = alice.post("/v1/evaluate", SLOW, Prefer="wait=0")

    assert (answer.status_code, statuses(answer)) == (200, ["pending", "success"])
    assert answer["Preference-Applied"] == "wait=0"
    assert answer["Location"] == f"/v1/evaluate/{answer.json()['id']}"
    pending = answer.json()["results"][0]
    assert pending["evaluation_result"] is None
    assert pending["evaluation_id"]


def test_pending_work_is_fetched_when_it_is_done(alice: Caller, bob: Caller, charlie: Caller) -> None:
    address = alice.post("/v1/evaluate", SLOW, Prefer="wait=0")["Location"]
    early = bob.get(address)
    assert (statuses(early), early["Retry-After"], early["Location"]) == (["pending", "success"], "1", address)

    work(alice, address.rpartition("/")[2])
    late = bob.get(address)
    assert statuses(late) == ["success", "success"]
    assert "Retry-After" not in late
    assert charlie.get(address).status_code == 404


def test_respond_async_answers_202_at_once(alice: Caller) -> None:
    for body in (SLOW, QUICK | {"capture": "none", "app": "shop"}):
        answer = alice.post("/v1/evaluate", body, Prefer="respond-async")
        assert answer.status_code == 202
        assert answer["Preference-Applied"] == "respond-async"
        assert alice.get(answer["Location"]).json()["id"] == answer.json()["id"]


def test_a_call_repeated_after_pending_is_the_same_call(alice: Caller) -> None:
    first = alice.post("/v1/evaluate", SLOW, Prefer="wait=0").json()
    again = alice.post("/v1/evaluate", SLOW, Prefer="wait=0")
    assert (again.json()["id"], statuses(again)) == (first["id"], ["pending", "success"])

    work(alice, first["id"])
    done = alice.post("/v1/evaluate", SLOW, Prefer="wait=0")
    assert (done.json()["id"], statuses(done)) == (first["id"], ["success", "success"])
    assert (n_requests(alice), len(scores_of(alice, "toxicity")), len(scores_of(alice, "pii"))) == (1, 1, 1)


def test_a_call_repeated_after_its_verdicts_were_fetched_is_a_new_one(alice: Caller) -> None:
    first = alice.post("/v1/evaluate", SLOW, Prefer="wait=0").json()
    work(alice, first["id"])
    alice.get(f"/v1/evaluate/{first['id']}")

    assert alice.post("/v1/evaluate", SLOW, Prefer="wait=0").json()["id"] != first["id"]


def test_a_client_that_says_it_retries_counts_once(alice: Caller, charlie: Caller) -> None:
    first = alice.post("/v1/evaluate", QUICK, X_Stainless_Retry_Count="0").json()
    for count in ("1", "2"):
        again = alice.post("/v1/evaluate", QUICK, X_Stainless_Retry_Count=count).json()
        assert again["id"] == first["id"]
        assert again["results"] == first["results"]
    assert len(scores_of(alice, "exact-match")) == 1

    charlie.post("/v1/evaluate", QUICK, X_Stainless_Retry_Count="1")
    alice.post("/v1/evaluate", QUICK | {"label": "Rome"}, X_Stainless_Retry_Count="1")
    assert (len(scores_of(charlie, "exact-match")), len(scores_of(alice, "exact-match"))) == (1, 2)


def test_equal_calls_of_a_client_that_does_not_retry_count_each(alice: Caller) -> None:
    for _ in range(3):
        alice.post("/v1/evaluate", QUICK, X_Stainless_Retry_Count="0")

    assert len(scores_of(alice, "exact-match")) == 3


def test_long_texts_leave_the_web_process(alice: Caller) -> None:
    body = QUICK | {"output": "x" * 20_001}

    assert statuses(alice.post("/v1/evaluate", body, Prefer="wait=0")) == ["pending"]


def test_an_accepted_key_is_answered_with_the_verdict_later(alice: Caller) -> None:
    first = alice.post("/v1/evaluate", SLOW, Prefer="respond-async", Idempotency_Key="k")
    work(alice, first.json()["id"])
    second = alice.post("/v1/evaluate", SLOW, Prefer="respond-async", Idempotency_Key="k")

    assert second["Idempotency-Replayed"] == "true"
    assert second.json()["id"] == first.json()["id"]
    assert (n_requests(alice), len(scores_of(alice, "toxicity"))) == (1, 1)
