"""Whoever waits hears of a verdict by push, wherever its work was enqueued, and by looking where a push was lost."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from evalsvc.evaluations.evaluate import replies, wait
from evalsvc.evaluations.evaluate import stored as stored_requests
from evalsvc.evaluations.evaluate.waiting_room import WaitSlots
from evalsvc.evaluations.tasks import score_lane
from evalsvc.infra.cache import BoundedCache
from tests.conftest import Caller, scores_of, wait_until
from tests.work.keeping import EVALUATOR, pending

NEVER = 1000.0


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> WaitSlots:
    """An empty room of four places."""
    room = WaitSlots(4)
    monkeypatch.setattr(wait, "room", room)
    return room


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def ask(caller: Caller, request_id: int, seconds: int = 60) -> Any:
    return caller.get(f"/v1/evaluate/{request_id}", Prefer=f"wait={seconds}")


def status(answer: Any) -> str:
    return answer.json()["results"][0]["status"]


def waits(pool: ThreadPoolExecutor, caller: Caller, *request_ids: int) -> list[Future[Any]]:
    """Ask in threads of their own, and return when all of them wait."""
    asked = [pool.submit(ask, caller, request_id) for request_id in request_ids]
    box = replies.reply_dispatcher()
    wait_until(lambda: all(request_id in box._waiters for request_id in request_ids))
    return asked


def work(caller: Caller, request_id: int) -> None:
    """Be a worker who was told by the sweep, and knows of nobody that waits."""
    score_lane.apply(args=[caller.account.pk, request_id, "cpu", 0, None])


def test_a_verdict_is_pushed_to_whoever_asks_for_it(
    alice: Caller, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wait, "LOOK_SECONDS", NEVER)
    announced = threading.Event()
    announce = replies.ReplyDispatcher.announce

    def noted(box: replies.ReplyDispatcher, request_id: int) -> bool:
        done = announce(box, request_id)
        announced.set()
        return done

    monkeypatch.setattr(replies.ReplyDispatcher, "announce", noted)
    request_id = pending(alice)
    (asked,) = waits(pool, alice, request_id)
    assert announced.wait(60)
    work(alice, request_id)

    answer = asked.result(50)
    assert (status(answer), answer["Preference-Applied"]) == ("success", "wait=60")
    assert len(scores_of(alice, EVALUATOR)) == 1


def test_a_verdict_that_came_before_anybody_listened_is_found(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    request_id = pending(alice)
    get_stored = stored_requests.get_stored

    def then_it_is_done(**who: int) -> Any:
        stored = get_stored(**who)
        if not stored.is_finished:
            work(alice, request_id)
        return stored

    monkeypatch.setattr(wait, "LOOK_SECONDS", NEVER)
    monkeypatch.setattr(wait, "get_stored", then_it_is_done)

    assert status(ask(alice, request_id)) == "success"


def test_a_lost_push_costs_a_look(alice: Caller, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.evaluations.tasks.send_reply", lambda *_: None)
    monkeypatch.setattr(wait, "LOOK_SECONDS", 0.3)
    request_id = pending(alice)
    (asked,) = waits(pool, alice, request_id)
    work(alice, request_id)

    assert status(asked.result(50)) == "success"


def test_many_who_wait_look_as_often_as_one(
    alice: Caller, charlie: Caller, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One look for all requests of an account, and never for another's."""
    looks: list[tuple[int, list[int]]] = []
    look = stored_requests.finished_verdicts

    def noted(*, account_id: int, request_ids: list[int]) -> Any:
        looks.append((account_id, sorted(request_ids)))
        return look(account_id=account_id, request_ids=request_ids)

    monkeypatch.setattr("evalsvc.evaluations.tasks.send_reply", lambda *_: None)
    monkeypatch.setattr(wait, "finished_verdicts", noted)
    mine, theirs = sorted(pending(alice) for _ in range(3)), pending(charlie)
    asked = waits(pool, alice, *mine) + waits(pool, charlie, theirs)
    wait_until(lambda: (alice.account.pk, mine) in looks and looks.count((charlie.account.pk, [theirs])) >= 2)
    for caller, request_id in [*((alice, one) for one in mine), (charlie, theirs)]:
        work(caller, request_id)

    assert [status(one.result(50)) for one in asked] == ["success"] * 4
    allowed = {(charlie.account.pk, (theirs,))}
    assert {(account, tuple(ids)) for account, ids in looks if account != alice.account.pk} <= allowed
    assert all(set(ids) <= set(mine) for account, ids in looks if account == alice.account.pk)


def test_a_look_is_taken_once_for_all_in_its_time(alice: Caller) -> None:
    box, account = replies.reply_dispatcher(), alice.account.pk
    waiters = {11: replies.Waiter(account), 12: replies.Waiter(account), 13: replies.Waiter(account + 1)}
    with contextlib.ExitStack() as stack:
        for request_id, waiter in waiters.items():
            stack.enter_context(box.waiting_for(request_id, waiter))
        assert sorted(box.requests_to_poll(account, NEVER)) == [11, 12]
        assert box.requests_to_poll(account, NEVER) == []
        assert box.requests_to_poll(account + 1, NEVER) == [13]
        assert sorted(box.requests_to_poll(account, 0)) == [11, 12]


def test_without_a_place_the_answer_comes_at_once(
    alice: Caller, charlie: Caller, pool: ThreadPoolExecutor, room: WaitSlots
) -> None:
    requests = [pending(alice) for _ in range(5)]
    asked = waits(pool, alice, *requests[:4])

    refused = ask(alice, requests[4])
    assert (status(refused), refused["Location"]) == ("pending", f"/v1/evaluate/{requests[4]}")
    assert int(refused["Retry-After"]) >= 1
    # The stranger gets a place, and who has waited longest goes on with what there is.
    theirs = pending(charlie)
    (stranger,) = waits(pool, charlie, theirs)
    (gone,) = wait_until(lambda: [one for one in asked if one.done()])
    assert (status(gone.result()), room.n_places) == ("pending", 4)

    for request_id in requests:
        work(alice, request_id)
    work(charlie, theirs)
    assert [status(one.result(50)) for one in asked if one is not gone] == ["success"] * 3
    assert status(stranger.result(50)) == "success"
    assert [status(ask(alice, request_id)) for request_id in requests] == ["success"] * 5
    assert len(scores_of(alice, EVALUATOR)) == 5


def test_a_stranger_waits_for_nothing_of_an_account(alice: Caller, charlie: Caller) -> None:
    assert ask(charlie, pending(alice)).status_code == 404


def test_whoever_waits_holds_no_connection(
    alice: Caller, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []
    take = replies.Waiter.take

    def noted(waiter: replies.Waiter, seconds: float) -> Any:
        held.append(connections["default"].connection is not None)
        return take(waiter, seconds)

    monkeypatch.setattr(replies.Waiter, "take", noted)
    request_id = pending(alice)
    (asked,) = waits(pool, alice, request_id)
    wait_until(lambda: len(held) >= 1)
    work(alice, request_id)

    assert status(asked.result(50)) == "success"
    assert not any(held)


def test_pauses_follow_what_such_work_usually_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "_usual_seconds", BoundedCache(10))

    def pauses(account_id: int, *ages: float) -> list[int]:
        return [wait.pending_retry_after(account_id, asks_judge=True, age_seconds=age) for age in ages]

    assert pauses(1, 0, 0.5, 2, 6, 100) == [1, 1, 1, 3, 10]
    wait._learn((1, True), 4.0, True)
    assert pauses(1, 0, 1, 3.9, 8, 100) == [4, 3, 1, 4, 10]
    wait._learn((1, True), 0.1, False)  # sent away early: that says nothing
    assert pauses(1, 0) == [4]
    for _ in range(50):
        wait._learn((1, True), 60.0, False)
    assert pauses(1, 0) == [10]
    assert pauses(2, 0) == [1]
