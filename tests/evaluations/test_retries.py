"""Which repeated calls are one evaluation: those that name the log or the span they are about."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from evalsvc.evaluations.evaluate import accept
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.verdicts import Verdict, score_sample, verdict_columns
from evalsvc.evaluations.workers.lane import finish_lane, work_off
from tests import leftovers
from tests.conftest import Caller, findings, scores_of

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


def fail(caller: Caller, request_id: str, position: int = 0) -> None:
    """Be a worker whose evaluator could not finish."""
    verdict = Verdict(status="error", error_code="timeout", error_message="It took too long.")
    finish_lane(caller.account.pk, int(request_id), [{"position": position, **verdict_columns(verdict)}])


def work(caller: Caller, request_id: str, expected_attempts: int = 0) -> int:
    """Be the worker of the cpu lane; return how many verdicts it wrote."""
    return len(
        work_off(
            account_id=caller.account.pk, request_id=int(request_id), lane="cpu", expected_attempts=expected_attempts
        )
    )


def test_an_error_is_not_repeated_but_tried_again(alice: Caller) -> None:
    failed = request_of(alice, SLOW | LOG, Prefer="wait=0")
    fail(alice, failed)

    told = alice.post("/v1/evaluate", SLOW | LOG, Prefer="wait=0").json()
    assert (told["id"], told["results"][0]["status"]) == (failed, "error")
    anew = alice.post("/v1/evaluate", SLOW | LOG, Prefer="wait=0").json()
    assert (anew["id"], anew["results"][0]["status"]) == (failed, "pending")
    assert work(alice, failed) == 1
    assert request_result(alice, failed) == "success"
    assert len(scores_of(alice, "toxicity")) == 1
    assert findings(alice) == {}


def request_result(caller: Caller, request_id: str) -> str:
    """The status of a request's first evaluator."""
    return str(caller.get(f"/v1/evaluate/{request_id}").json()["results"][0]["status"])


BOTH = (
    SLOW
    | LOG
    | {"evaluators": [{"evaluator": "toxicity"}, {"evaluator": "exact-match"}], "label": "Hello.", "tags": {"a": "b"}}
)


def failed_beside_a_success(caller: Caller) -> dict[str, Any]:
    """A call of two evaluators of which the first could not finish, as its caller saw it."""
    failed = request_of(caller, BOTH, Prefer="wait=0")
    fail(caller, failed)
    seen: dict[str, Any] = caller.post("/v1/evaluate", BOTH, Prefer="wait=0").json()
    assert [result["status"] for result in seen["results"]] == ["error", "success"]
    return seen


def test_beside_an_error_what_has_succeeded_counts_once(alice: Caller, charlie: Caller) -> None:
    seen = failed_beside_a_success(alice)

    again = alice.post("/v1/evaluate", BOTH, Prefer="wait=0").json()
    assert again["id"] == seen["id"]
    assert [result["status"] for result in again["results"]] == ["pending", "success"]
    assert again["results"][1] == seen["results"][1]
    assert work(alice, seen["id"]) == 1
    assert (len(scores_of(alice, "toxicity")), len(scores_of(alice, "exact-match"))) == (1, 1)
    assert request_of(charlie, BOTH, Prefer="wait=0") != seen["id"]
    assert findings(alice) == {}


def test_who_asks_for_another_try_hears_how_it_ended(alice: Caller) -> None:
    seen = failed_beside_a_success(alice)
    alice.post("/v1/evaluate", BOTH, Prefer="wait=0")
    fail(alice, seen["id"])

    told = alice.post("/v1/evaluate", BOTH, Prefer="wait=0").json()
    assert told["results"][0]["status"] == "error"


def test_repeats_that_come_at_once_try_again_once(alice: Caller) -> None:
    seen = failed_beside_a_success(alice)
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: request_of(alice, BOTH, Prefer="wait=0"), range(8)))

    assert ids == {seen["id"]}
    assert (work(alice, seen["id"]), work(alice, seen["id"])) == (1, 0)
    assert (len(scores_of(alice, "toxicity")), len(scores_of(alice, "exact-match"))) == (1, 1)


def test_another_try_has_the_time_of_a_new_one(alice: Caller) -> None:
    seen = failed_beside_a_success(alice)
    rows = Evaluation.objects.using("system").filter(account_id=alice.account.pk, position=0)
    long_ago = timezone.now() - timedelta(minutes=9)
    rows.update(created_at=long_ago, n_attempts=9, n_sweeps=9, favorite=True)

    alice.post("/v1/evaluate", BOTH, Prefer="wait=0")
    row = rows.get()
    assert (row.status, row.n_attempts, row.n_sweeps, row.favorite, str(row.request_id)) == (
        "pending", 0, 0, True, seen["id"]
    )  # fmt: skip
    assert row.created_at > long_ago
    assert row.lease_expires_at is not None


def test_what_broke_at_once_is_tried_again_by_a_worker(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    body = QUICK | LOG | {"evaluators": [{"evaluator": "exact-match"}, {"evaluator": "pii"}]}
    broken = Verdict(status="error", error_code="evaluator_failed", error_message="It broke.")

    def first_breaks(family: Any, *args: Any) -> Verdict:
        return broken if family.name == "exact-match" else score_sample(family, *args)

    with monkeypatch.context() as patched:
        patched.setattr(accept, "score_sample", first_breaks)
        seen = request_of(alice, body)
    assert request_of(alice, body, Prefer="wait=0") == seen
    assert work(alice, seen) == 1
    assert request_result(alice, seen) == "success"
    assert (len(scores_of(alice, "exact-match")), len(scores_of(alice, "pii"))) == (1, 1)


def test_a_new_idempotency_key_asks_for_a_new_evaluation(alice: Caller) -> None:
    first, second = (request_of(alice, QUICK | LOG, Idempotency_Key=key) for key in ("one", "two"))

    assert first != second
    assert len(scores_of(alice, "exact-match")) == 2


def test_after_ten_minutes_it_is_a_new_evaluation(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    first = request_of(alice, QUICK | LOG)
    later = timezone.now() + timedelta(minutes=11)
    monkeypatch.setattr("evalsvc.evaluations.evaluate.use_case.timezone.now", lambda: later)

    assert request_of(alice, QUICK | LOG) != first


def test_what_capture_kept_only_in_part_is_no_answer(alice: Caller) -> None:
    body = {"evaluators": [{"evaluator": "pii"}, {"evaluator": "exact-match"}], "output": "Paris", "label": "Rome"}
    body |= LOG | {"capture": "fails-only"}
    for headers in ({}, {"X_Stainless_Retry_Count": "1"}):
        answer = alice.post("/v1/evaluate", body, **headers).json()
        assert [result["evaluation_result"]["pass"] for result in answer["results"]] == [True, False]
    assert scores_of(alice, "") == []


def test_after_a_deletion_it_is_a_new_evaluation(alice: Caller) -> None:
    leftovers.spoil(alice.account.pk)
    first = request_of(alice, QUICK | LOG)
    Evaluation.objects.using("system").filter(account_id=alice.account.pk).delete()

    assert request_of(alice, QUICK | LOG) != first


def test_what_keeps_nothing_looks_nothing_up(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.evaluations.evaluate.use_case.find_retried", lambda **_: pytest.fail("looked up"))

    answer = alice.post("/v1/evaluate", {**QUICK, **LOG, "capture": "none"})

    assert answer.json()["results"][0]["status"] == "success"
    assert EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk).count() == 0


def test_a_client_that_counts_its_tries_means_a_first_one_anew(alice: Caller) -> None:
    first = request_of(alice, QUICK | LOG, x_stainless_retry_count="0")
    second = request_of(alice, QUICK | LOG, x_stainless_retry_count="0")

    assert first != second
    assert request_of(alice, QUICK | LOG, x_stainless_retry_count="1") == second
    assert len(scores_of(alice, "exact-match")) == 2
