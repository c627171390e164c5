"""How many messages to the database a waiting caller costs: with hundreds of them, each is felt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import connection

from evalsvc.evaluations.selectors import get_stored
from evalsvc.evaluations.work import work_off
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


def test_accepting_queued_work_is_three_messages(alice: Caller, counted: Counted) -> None:
    alice.post("/v1/evaluate", body("warm"), Prefer="wait=0")

    # Is it a repeat; keep it; the caller was told `pending`.
    assert counted(lambda: alice.post("/v1/evaluate", body("one"), Prefer="wait=0")) == 3
    # Nobody is told `pending` here.
    assert counted(lambda: alice.post("/v1/evaluate", body("two"), Prefer="respond-async")) == 2


def test_coming_back_is_one_message_and_the_delivery_another(alice: Caller, counted: Counted) -> None:
    request_id = alice.post("/v1/evaluate", body("Come back."), Prefer="wait=0").json()["id"]
    address = f"/v1/evaluate/{request_id}"

    assert counted(lambda: alice.get(address)) == 1
    work_off(account_id=alice.account.pk, request_id=int(request_id), lane="cpu", expected_attempts=9)
    assert counted(lambda: alice.get(address)) == 2
    assert counted(lambda: alice.get(address)) == 1


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
