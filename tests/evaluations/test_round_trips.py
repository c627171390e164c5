"""How many messages to the database a waiting caller costs: with hundreds of them, each is felt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import connection

from evalsvc.accounts.access import rate_limiter
from evalsvc.evaluations.evaluate.stored import get_stored
from evalsvc.evaluations.models import EvaluationRequest
from evalsvc.evaluations.workers.lane import work_off
from evalsvc.infra.redis import get_shared_client
from evalsvc.rest.problems import NotFound
from tests.conftest import Caller

SLOW: dict[str, Any] = {"evaluators": [{"evaluator": "toxicity"}, {"evaluator": "pii"}], "output": "Hi.", "app": "shop"}
Counted = Callable[[Callable[[], Any]], int]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Count the exchanges with the database in what is called, by this thread."""
    seen: list[None] = []
    wait, me = psycopg.Connection.wait, threading.get_ident()

    def noted(self: Any, *args: Any, **options: Any) -> Any:
        if threading.get_ident() == me:
            seen.append(None)
        return wait(self, *args, **options)

    monkeypatch.setattr(psycopg.Connection, "wait", noted)

    def count(act: Callable[[], Any]) -> int:
        connection.ensure_connection()  # to get one from the pool is no message
        before = len(seen)
        act()
        return len(seen) - before

    return count


def body(output: str) -> dict[str, Any]:
    return SLOW | {"output": output}


def test_accepting_queued_work_is_one_message_and_two_where_repeats_are_expected(
    alice: Caller, counted: Counted
) -> None:
    alice.post("/v1/evaluate", body("warm"), Prefer="respond-async")

    # Nobody was told to come back, so nobody calls again: it is kept, and that its caller is told `pending` with it.
    assert counted(lambda: alice.post("/v1/evaluate", body("zero"), Prefer="respond-async")) == 1
    assert counted(lambda: alice.post("/v1/evaluate", body("one"), Prefer="wait=0")) == 1
    # Is it a repeat; keep it.
    assert counted(lambda: alice.post("/v1/evaluate", body("two"), Prefer="wait=0")) == 2
    assert counted(lambda: alice.post("/v1/evaluate", body("three"), Prefer="respond-async")) == 2


def test_coming_back_is_one_message(alice: Caller, counted: Counted) -> None:
    request_id = alice.post("/v1/evaluate", body("Come back."), Prefer="wait=0").json()["id"]
    address = f"/v1/evaluate/{request_id}"

    assert counted(lambda: alice.get(address)) == 1
    work_off(account_id=alice.account.pk, request_id=int(request_id), lane="cpu", expected_attempts=9)
    assert counted(lambda: alice.get(address)) == 1
    assert counted(lambda: alice.get(address)) == 1


def test_what_is_pending_is_not_delivered_and_what_is_there_is_once(alice: Caller) -> None:
    request_id = int(alice.post("/v1/evaluate", body("Come and get it."), Prefer="wait=0").json()["id"])

    def stamps() -> tuple[Any, Any]:
        found = EvaluationRequest.objects.using("system").get(pk=request_id)
        return found.pending_answered_at, found.delivered_at

    alice.get(f"/v1/evaluate/{request_id}")
    told, delivered = stamps()
    assert told is not None and delivered is None
    work_off(account_id=alice.account.pk, request_id=request_id, lane="cpu", expected_attempts=9)
    alice.get(f"/v1/evaluate/{request_id}")
    first = stamps()
    assert first[0] == told and first[1] is not None
    alice.get(f"/v1/evaluate/{request_id}")
    assert stamps() == first


def test_who_is_told_to_come_back_is_known_to_every_process_for_as_long(
    alice: Caller, charlie: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("evalsvc.accounts.access.rate_limiter.time.monotonic", lambda: now[0])
    account, key = alice.account.pk, f"repeats:{{{alice.account.pk}}}"
    rate_limiter.expect_repeats(account, seconds=60)
    assert get_shared_client().ttl(key) > 60 + rate_limiter.RENEWED_SECONDS
    # Said a moment ago: nothing is written again, until it is time to.
    get_shared_client().expire(key, 70)
    now[0] += rate_limiter.RENEWED_SECONDS - 1
    rate_limiter.expect_repeats(account, seconds=60)
    assert get_shared_client().ttl(key) <= 70
    now[0] += 2
    rate_limiter.expect_repeats(account, seconds=60)
    assert get_shared_client().ttl(key) > 60 + rate_limiter.RENEWED_SECONDS
    assert not rate_limiter.count_requests(charlie.account.pk).expects_repeats


def test_what_is_read_so_is_what_the_models_say(alice: Caller, charlie: Caller) -> None:
    sent = {
        "evaluators": [{"evaluator": "pii"}, {"evaluator": "exact-match"}, {"evaluator": "no-such"}],
        "output": "Paris", "label": "Paris", "tags": {"a": "é"}, "app": "shop", "retrieved_context": ["x", "y"],
    }  # fmt: skip
    request_id = int(alice.post("/v1/evaluate", sent).json()["id"])

    found = get_stored(account_id=alice.account.pk, request_id=request_id)

    for one in (found.request, *found.evaluations):
        names = [field.attname for field in one._meta.concrete_fields]
        kept = type(one)._default_manager.using("system").get(pk=one.pk)
        assert {name: getattr(one, name) for name in names} == {name: getattr(kept, name) for name in names}
    assert [one.position for one in found.evaluations] == [0, 1, 2]
    for account_id in (charlie.account.pk, 0):
        with pytest.raises(NotFound):
            get_stored(account_id=account_id, request_id=request_id)
