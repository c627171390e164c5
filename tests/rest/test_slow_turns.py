"""Requests that take long: one of an account at a time, few of all, and everybody else is served meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from evalsvc.infra.cache import BoundedCache
from evalsvc.rest.edge import door as doors
from evalsvc.rest.edge import slow_turns
from evalsvc.rest.edge.door import AdmittedRequest, ConcurrencyLimiter, serve_request
from evalsvc.rest.edge.slow_turns import SlowTurns, leave_turn, take_turn
from evalsvc.rest.problems import Problem
from tests.conftest import wait_until

ALICE, BOB, CHARLIE = 1, 2, 3
SEARCH = "POST EvaluationSearchView"


@pytest.fixture(autouse=True)
def door(monkeypatch: pytest.MonkeyPatch) -> ConcurrencyLimiter:
    door = ConcurrencyLimiter(most=4)
    monkeypatch.setattr(doors, "door", door)
    monkeypatch.setattr(slow_turns, "door", door)
    monkeypatch.setattr(slow_turns, "turns", SlowTurns())
    monkeypatch.setattr(slow_turns, "_seconds", BoundedCache(100))
    return door


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def visit(door: ConcurrencyLimiter, account_id: int) -> AdmittedRequest:
    admitted = AdmittedRequest(lambda: None, account_id)
    door.admit(admitted)
    return admitted


def test_an_account_has_one_and_all_together_have_two(pool: ThreadPoolExecutor) -> None:
    turns = SlowTurns(most=2)
    turns.take(ALICE)
    again, turns_of_bob = pool.submit(turns.take, ALICE), pool.submit(turns.take, BOB)
    turns_of_bob.result(50)
    third = pool.submit(turns.take, CHARLIE)
    wait_until(lambda: len(turns._queues) == 2)
    assert not again.done() and not third.done()
    turns.leave(BOB)
    third.result(50)
    assert not again.done(), "Alice has one."
    turns.leave(ALICE)
    again.result(50)


def test_accounts_have_them_in_rotation_however_many_one_has_sent(pool: ThreadPoolExecutor) -> None:
    turns, order = SlowTurns(most=1), []

    def come(account_id: int) -> None:
        turns.take(account_id)
        order.append(account_id)
        turns.leave(account_id)

    turns.take(CHARLIE)
    for n, account_id in enumerate((ALICE, ALICE, ALICE, BOB), 1):
        pool.submit(come, account_id)
        wait_until(lambda n=n: sum(map(len, turns._queues.values())) == n)
    turns.leave(CHARLIE)
    wait_until(lambda: len(order) == 4)
    assert order == [ALICE, BOB, ALICE, ALICE]


def test_one_that_waits_too_long_or_beyond_the_bound_is_told_when_to_come_back(pool: ThreadPoolExecutor) -> None:
    turns = SlowTurns(most=1, most_waiting=1, patience=0.01)
    turns.take(ALICE)
    with pytest.raises(Problem) as late:
        turns.take(ALICE)
    assert (late.value.row.status, late.value.headers["Retry-After"]) == (429, "2")
    assert "Send fewer at once" in late.value.detail

    turns = SlowTurns(most=1, most_waiting=1)
    turns.take(ALICE)
    waits = pool.submit(turns.take, ALICE)
    wait_until(lambda: turns._queues)
    with pytest.raises(Problem, match="take long"):
        turns.take(ALICE)
    turns.leave(ALICE)
    waits.result(50)


def test_a_kind_that_takes_longer_than_a_turn_waits_from_then_on(
    door: ConcurrencyLimiter, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors, "LONGEST_TURN_SECONDS", -1.0)
    began, may_end = threading.Semaphore(0), threading.Event()

    def search(account_id: int, kind: str = SEARCH) -> None:
        with serve_request(visit(door, account_id)):
            take_turn(account_id, kind)
            began.release()
            may_end.wait(50)

    first = pool.submit(search, ALICE)
    assert began.acquire(timeout=50)
    door.dispatch()  # it has been at work for longer than a turn
    second = pool.submit(search, ALICE)
    assert began.acquire(timeout=50), "Nobody else is at a slow request."
    third = pool.submit(search, ALICE)
    wait_until(lambda: slow_turns.turns._queues)
    others = [pool.submit(search, ALICE, "GET ProjectsView"), pool.submit(search, BOB)]
    for _ in others:
        assert began.acquire(timeout=50), "Other kinds and other accounts are served."
    assert not third.done()
    may_end.set()
    for future in (first, second, third, *others):
        future.result(50)
    assert not slow_turns.turns._holders and not slow_turns.turns._queues


def test_what_is_quick_again_waits_no_more(door: ConcurrencyLimiter) -> None:
    slow_turns._seconds.put((ALICE, SEARCH), 0.2)
    for _ in range(2):
        with serve_request(visit(door, ALICE)):
            take_turn(ALICE, SEARCH)
    assert (slow_turns._seconds.get((ALICE, SEARCH)) or 1.0) < doors.LONGEST_TURN_SECONDS


def test_what_streams_gives_its_turn_back(door: ConcurrencyLimiter) -> None:
    slow_turns._seconds.put((ALICE, SEARCH), 0.2)
    with serve_request(visit(door, ALICE)):
        take_turn(ALICE, SEARCH)
        assert slow_turns.turns._holders == {ALICE}
        leave_turn()
        assert slow_turns.turns._holders == set()
    assert slow_turns.turns._holders == set()


def test_an_account_pauses_between_two_where_others_are_served(
    door: ConcurrencyLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(slow_turns._never, "wait", pauses.append)
    for before in (None, ALICE, BOB):
        if before is not None:
            door.finish(visit(door, before))
        slow_turns._seconds.put((ALICE, SEARCH), 0.4)
        with serve_request(visit(door, ALICE)):
            take_turn(ALICE, SEARCH)
    assert pauses == [0.4]


def test_outside_of_a_web_process_nothing_waits() -> None:
    take_turn(ALICE, SEARCH)
    leave_turn()
