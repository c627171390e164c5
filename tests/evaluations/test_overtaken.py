"""A retry that overtakes its first try: both are one evaluation, and the next equal call is another."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.evaluations.models import EvaluationRequest
from evalsvc.infra.redis import get_shared_client
from tests.conftest import Caller, scores_of

QUICK = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris", "app": "shop"}


def send(caller: Caller, count: str, body: dict[str, Any] = QUICK, **headers: str) -> dict[str, Any]:
    answer = caller.post("/v1/evaluate", body, X_Stainless_Retry_Count=count, **headers)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("body", [QUICK, QUICK | {"log_id": "6f0f1f5e"}], ids=["plain", "named"])
def test_a_first_try_that_comes_after_its_retry_joins_it(alice: Caller, body: dict[str, Any]) -> None:
    retry, first = send(alice, "1", body), send(alice, "0", body)

    assert first["id"] == retry["id"]
    assert first["results"] == retry["results"]
    assert len(scores_of(alice, "exact-match")) == 1
    assert send(alice, "2", body)["id"] == retry["id"]


def test_the_next_first_try_is_a_call_of_its_own(alice: Caller) -> None:
    ids = [send(alice, count)["id"] for count in ("1", "0", "0")]

    assert ids[0] == ids[1] != ids[2]
    assert len(scores_of(alice, "exact-match")) == 2


def test_a_retry_that_found_its_first_try_takes_no_other(alice: Caller) -> None:
    ids = [send(alice, count)["id"] for count in ("0", "1", "0")]

    assert ids[0] == ids[1] != ids[2]


def test_another_body_and_another_account_are_not_joined(alice: Caller, charlie: Caller) -> None:
    retry = send(alice, "1")["id"]

    assert send(alice, "0", QUICK | {"output": "Rome"})["id"] != retry
    assert send(charlie, "0")["id"] != retry


def test_after_ten_seconds_a_first_try_is_new(alice: Caller) -> None:
    retry = send(alice, "1")["id"]
    (key,) = get_shared_client().keys(f"try:{{{alice.account.pk}}}:*")
    assert 0 < get_shared_client().ttl(key) <= 10

    rows = EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk, pk=int(retry))
    assert rows.exists()
    get_shared_client().delete(key)
    assert send(alice, "0")["id"] != retry


def test_a_key_of_the_caller_s_own_goes_first(alice: Caller) -> None:
    assert send(alice, "1")["id"] != send(alice, "0", Idempotency_Key="one")["id"]


def test_what_is_not_kept_leaves_no_note(alice: Caller) -> None:
    send(alice, "1", QUICK | {"capture": "none"})

    assert get_shared_client().keys(f"try:{{{alice.account.pk}}}:*") == []
