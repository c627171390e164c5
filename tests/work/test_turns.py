"""Inline work of one account leaves threads to others: what finds no turn goes to the workers, and counts once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evalsvc.accounts.access import rate_limiter
from evalsvc.evaluations.evaluate import accept
from evalsvc.evaluations.evaluate import inline_turns as turns_module
from evalsvc.evaluations.evaluate.inline_turns import InlineTurns
from evalsvc.evaluations.verdicts import score_sample
from evalsvc.evaluations.workers.lane import work_off
from evalsvc.infra import redis
from tests.conftest import Caller, findings, scores_of, wait_until

BODY = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris", "app": "shop"}


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> InlineTurns:
    """Eight threads of which one account may compute in two, and all accounts in six."""
    turns = InlineTurns(8)
    monkeypatch.setattr(accept, "turns", turns)
    return turns


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as pool:
        yield pool


def take_all(turns: InlineTurns, account_id: int) -> int:
    """Take every turn that an account gets; return how many."""
    n = 0
    while turns.take(account_id):
        n += 1
    return n


def test_an_account_has_its_share_and_all_accounts_leave_threads_free(turns: InlineTurns) -> None:
    assert [take_all(turns, account_id) for account_id in (1, 2, 3, 4)] == [2, 2, 2, 0]


@pytest.mark.parametrize(
    ("n_threads", "most", "most_of_one"), [(16, 14, 4), (8, 6, 2), (3, 1, 1), (1, 1, 1), (0, 1, 1)]
)
def test_the_share_follows_the_threads(n_threads: int, most: int, most_of_one: int) -> None:
    turns = InlineTurns(n_threads)

    assert (turns.most, turns.most_of_one) == (most, most_of_one)


def test_a_turn_that_comes_free_is_taken(turns: InlineTurns, pool: ThreadPoolExecutor, monkeypatch: Any) -> None:
    monkeypatch.setattr(turns_module, "PATIENCE_SECONDS", 60.0)
    assert turns.take(1) and turns.take(1)
    waiting = [pool.submit(turns.take, 1) for _ in range(2)]
    wait_until(lambda: turns._n_waiting == 2)
    turns.leave(1)
    turns.leave(1)

    assert [one.result(60) for one in waiting] == [True, True]
    assert turns._held == {1: 2}


def test_who_waited_in_vain_speaks_for_its_account_only(turns: InlineTurns, monkeypatch: Any) -> None:
    monkeypatch.setattr(turns_module, "BUSY_SECONDS", 1000.0)
    assert take_all(turns, 1) == 2
    monkeypatch.setattr(turns_module, "PATIENCE_SECONDS", 1000.0)

    assert not turns.take(1)  # at once, as the last one waited in vain
    assert turns.take(2)
    turns.leave(1)
    assert turns.take(1)


def test_given_back_turns_leave_nothing_behind(turns: InlineTurns, pool: ThreadPoolExecutor) -> None:
    def many(account_id: int) -> None:
        for _ in range(500):
            if turns.take(account_id):
                turns.leave(account_id)

    list(pool.map(many, [1, 2, 3, 4] * 4))

    assert (turns._held, turns._n_held, turns._n_waiting) == ({}, 0, 0)


def answer_of(caller: Caller, **headers: str) -> tuple[str, Any]:
    answer = caller.post("/v1/evaluate", BODY, **headers)
    assert answer.status_code == 200, answer.content
    return answer.json()["results"][0]["status"], answer


def work(caller: Caller, request_id: str) -> None:
    work_off(account_id=caller.account.pk, request_id=int(request_id), lane="cpu", expected_attempts=9)


def test_slow_work_of_one_account_leaves_others_their_turn(
    alice: Caller, charlie: Caller, turns: InlineTurns, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, slow = threading.Event(), threading.local()

    def slow_for_alice(*args: Any) -> Any:
        if getattr(slow, "it_is", False):
            assert go_on.wait(100)
        return score_sample(*args)

    def ask_slowly(_: int) -> tuple[str, Any]:
        slow.it_is = True
        return answer_of(alice, Prefer="wait=0")

    monkeypatch.setattr(accept, "score_sample", slow_for_alice)
    asked = [pool.submit(ask_slowly, i) for i in range(10)]
    try:
        # All but those that have a turn are answered while these compute.
        wait_until(lambda: sum(one.done() for one in asked) == 8)
        assert turns._held == {alice.account.pk: 2}
        assert answer_of(charlie)[0] == "success"
    finally:
        go_on.set()
    answers = [one.result(100) for one in asked]

    assert sorted(status for status, _ in answers) == ["pending"] * 8 + ["success"] * 2
    ids = {answer.json()["id"] for status, answer in answers if status == "pending"}
    for request_id in ids:
        work(alice, request_id)
        assert alice.get(f"/v1/evaluate/{request_id}").json()["results"][0]["status"] == "success"
    # Equal calls that were answered `pending` are one and the same, as any that are told to come back.
    assert len(scores_of(alice, "exact-match")) == 2 + len(ids)
    assert findings(alice, charlie) == {}


def test_a_call_without_a_turn_that_is_repeated_counts_once(alice: Caller, turns: InlineTurns) -> None:
    """Nothing in it says that there is something to repeat, and the process that is asked may be another."""
    account = alice.account.pk
    assert not rate_limiter.count_requests(account).expects_repeats
    assert take_all(turns, account) == 2
    first_status, first = answer_of(alice, Prefer="wait=0")
    turns.leave(account)
    again_status, again = answer_of(alice, Prefer="wait=0")

    assert (first_status, again_status) == ("pending", "pending")
    assert again.json()["id"] == first.json()["id"]
    assert rate_limiter.count_requests(account).expects_repeats
    work(alice, first.json()["id"])
    assert answer_of(alice, Prefer="wait=0")[1].json()["id"] == first.json()["id"]
    # It has been delivered: the same once more is meant anew.
    assert answer_of(alice)[1].json()["id"] != first.json()["id"]
    assert len(scores_of(alice, "exact-match")) == 2


def test_work_that_turns_out_slow_and_is_repeated_counts_once(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accept, "INLINE_SECONDS", -1.0)
    _, first = answer_of(alice, Prefer="wait=0")
    _, again = answer_of(alice, Prefer="wait=0")

    assert again.json()["id"] == first.json()["id"]


def test_repeats_are_expected_of_whom_they_are_expected_and_without_redis(
    alice: Caller, charlie: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate_limiter.expect_repeats(alice.account.pk, seconds=60)
    assert rate_limiter.count_requests(alice.account.pk).expects_repeats
    assert not rate_limiter.count_requests(charlie.account.pk).expects_repeats

    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setattr("django.conf.settings.REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setattr(redis, "get_shared_client", lambda: redis.make_client(timeout=1))
    assert rate_limiter.count_requests(charlie.account.pk).expects_repeats
