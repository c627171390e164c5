"""Clients that count their retries and send no key: what they repeat is made once, for ten minutes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from evalsvc.rest.models import IdempotencyRecord
from tests.annotations.shapes import ANNOTATE, annotate_body, new_criteria
from tests.conftest import Caller, new_caller
from tests.rest.shapes import assert_problem

BODY = {"name": "July", "project_name": "checkout"}


def create(caller: Caller, count: str | None, body: dict[str, Any] = BODY) -> str:
    """Make an experiment as a client does that says which try it is; return its id."""
    headers = {} if count is None else {"X_Stainless_Retry_Count": count}
    answer = caller.post("/v1/experiments", body, **headers)
    assert answer.status_code == 200, answer.content
    return str(answer.json()["experiment"]["id"])


def records(caller: Caller) -> Any:
    return IdempotencyRecord.objects.using("system").filter(account_id=caller.account.pk)


def test_a_retry_is_answered_as_its_first_try_was(alice: Caller) -> None:
    first = alice.post("/v1/experiments", BODY, X_Stainless_Retry_Count="0")
    again = alice.post("/v1/experiments", BODY, X_Stainless_Retry_Count="2")

    assert again.content == first.content
    assert again.headers["Idempotency-Replayed"] == "true"


def test_a_first_try_is_always_new(alice: Caller) -> None:
    first, second = create(alice, "0"), create(alice, "0")

    assert first != second
    assert create(alice, "1") == second


@pytest.mark.parametrize("count", [None, "", "x", "-1", "²", "1.5"])
def test_what_is_no_count_is_no_sign(alice: Caller, count: str | None) -> None:
    assert create(alice, count) != create(alice, count)
    assert not records(alice).exists()


@pytest.mark.parametrize("count", ["1", "9" * 4000], ids=["one", "thousands"])
def test_a_retry_alone_is_done_and_remembered(alice: Caller, count: str) -> None:
    assert create(alice, count) == create(alice, count)


def test_another_body_or_account_is_another_request(alice: Caller, charlie: Caller, bob: Caller) -> None:
    first = create(alice, "0")

    assert create(alice, "1", BODY | {"name": "June"}) != first
    assert create(charlie, "1") != first
    assert bob.post("/v1/experiments", BODY, X_Stainless_Retry_Count="1").status_code == 403


def test_a_retry_comes_with_the_api_key_of_its_first_try(alice: Caller) -> None:
    colleague = new_caller(alice.account)
    first, other = create(alice, "0"), create(colleague, "0")

    assert first != other
    assert (create(alice, "1"), create(colleague, "1")) == (first, other)
    assert create(new_caller(alice.account), "1") not in (first, other)


def test_after_ten_minutes_it_is_a_new_request(alice: Caller) -> None:
    first = create(alice, "0")
    records(alice).update(created_at=F("created_at") - timedelta(minutes=11))

    assert create(alice, "1") != first


def test_a_retry_of_what_still_runs_is_told_to_come_back(alice: Caller) -> None:
    create(alice, "0")
    later = timezone.now() + timedelta(seconds=90)
    records(alice).update(status=None, body=None, lease_expires_at=later)

    told = alice.post("/v1/experiments", BODY, X_Stainless_Retry_Count="1")
    assert_problem(told, "in_progress")
    assert told.headers["x-should-retry"] == "true"
    assert create(alice, "0")  # another of the same at the same time is meant


def test_a_refused_first_try_leaves_nothing_behind(alice: Caller) -> None:
    wrong = BODY | {"name": ""}
    for count in ("0", "1"):
        assert alice.post("/v1/experiments", wrong, X_Stainless_Retry_Count=count).status_code == 422
    assert not records(alice).exists()


def test_a_deletion_that_is_retried_is_done(alice: Caller) -> None:
    path = f"/v1/experiments/{create(alice, None)}"

    answers = [alice.call("DELETE", path, X_Stainless_Retry_Count=count) for count in "0101"]

    assert [answer.status_code for answer in answers] == [204, 204, 404, 404]


def test_a_key_of_the_caller_s_own_goes_first(alice: Caller) -> None:
    made = [
        alice.post("/v1/experiments", BODY, X_Stainless_Retry_Count=count, Idempotency_Key=key).json()
        for count, key in (("0", "one"), ("1", "two"), ("0", "two"))
    ]

    assert made[0] != made[1] == made[2]


def test_what_only_reads_is_not_remembered(alice: Caller) -> None:
    assert alice.post("/v1/evaluations/search", {}, X_Stainless_Retry_Count="0").status_code == 200
    assert not records(alice).exists()


def change(caller: Caller, method: str, path: str, body: Any, count: str) -> Any:
    answer = caller.call(method, path, body, X_Stainless_Retry_Count=count)
    assert answer.status_code in (200, 204), answer.content
    assert "Idempotency-Replayed" not in answer.headers
    return answer


def test_a_change_that_is_retried_is_not_taken_for_an_earlier_one(alice: Caller) -> None:
    path = f"/v1/experiments/{create(alice, None)}"

    # The first try of the last one never arrived.
    for value, count in ((1, "0"), (2, "0"), (1, "1")):
        change(alice, "POST", path, {"metadata": {"value": value}}, count)
    assert alice.get(path).json()["experiment"]["metadata"] == {"value": 1}


def test_a_mark_that_is_retried_is_not_taken_for_an_earlier_one(alice: Caller) -> None:
    rows = [{"evaluator_id": "mine", "log_id": "one", "score": 1}]
    id = alice.post("/v1/evaluations/batch", {"evaluations": rows}).json()["evaluations"][0]["id"]

    for method, count in (("DELETE", "0"), ("POST", "0"), ("DELETE", "1")):
        change(alice, method, f"/v1/evaluation-results/{id}/favorite", None, count)
    for feedback, count in (("positive", "0"), ("negative", "0"), ("positive", "1")):
        path = f"/v1/evaluation-results/{id}/evaluation-feedback"
        change(alice, "POST", path, {"feedback": feedback}, count)
    found = alice.get(f"/v1/evaluations/{id}").json()["evaluation"]
    assert (found["favorite"], found["feedback"]) == (False, "positive")


def test_a_label_that_is_retried_is_not_taken_for_an_earlier_one(alice: Caller) -> None:
    criteria = new_criteria(alice)
    body = annotate_body(criteria)

    for passes, count in ((True, "0"), (False, "0"), (True, "1")):
        last = change(alice, "POST", ANNOTATE, body | {"value_pass": passes}, count).json()["evaluation"]
    assert alice.get(f"/v1/evaluations/{last['id']}").json()["evaluation"]["pass"] is True


def test_a_retry_finds_a_project_that_is_there(alice: Caller) -> None:
    gone = change(alice, "POST", "/v1/projects", {"name": "p"}, "0").json()["id"]
    assert alice.call("DELETE", f"/v1/projects/{gone}").status_code == 204

    made = change(alice, "POST", "/v1/projects", {"name": "p"}, "1").json()["id"]
    assert alice.get(f"/v1/projects/{made}").status_code == 200
