"""Permits by the handful: fewer round trips, the same limit, and an epoch that holds no longer than it may."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evalsvc.accounts.access import permits, rate_limiter
from evalsvc.accounts.access.rate_limiter import bump_epoch
from tests.conftest import new_account

PLENTY = 10**9


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by how many permits each round trip takes."""
    taken: list[int] = []
    admit = rate_limiter.count_requests

    def noting(account_id: int, *, n: int = 1, **others: Any) -> rate_limiter.Admission:
        taken.append(n)
        return admit(account_id, n=n, **others)

    monkeypatch.setattr(rate_limiter, "count_requests", noting)
    return taken


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let the test say what time it is: seconds of the monotonic clock, and of the epoch by which minutes go."""
    now = [1_000_000.0]
    gmtime = time.gmtime
    monkeypatch.setattr("evalsvc.accounts.access.permits.time.monotonic", lambda: now[0])
    monkeypatch.setattr("evalsvc.accounts.access.permits.time.gmtime", lambda: gmtime(now[0]))
    return now


def admit(account: int, rpm: int = PLENTY) -> rate_limiter.Admission:
    return permits.take_permit(account, rpm=rpm, monthly=PLENTY)


def test_an_account_that_calls_now_and_then_is_counted_call_by_call(asked: list[int], clock: list[float]) -> None:
    account = new_account().pk
    for number in range(1, 6):
        assert admit(account).n_minute == number
        clock[0] += 2
    assert asked == [1] * 5


def test_an_account_that_calls_often_takes_several_and_the_numbers_go_on(asked: list[int], clock: list[float]) -> None:
    account = new_account().pk
    numbers = []
    for _ in range(400):
        numbers.append(admit(account).n_minute)
        clock[0] += 0.002
    assert numbers == list(range(1, 401))
    assert len(asked) < 400 / 10
    assert max(asked) <= permits.MOST


def test_what_was_not_used_is_counted_off_again(asked: list[int], clock: list[float]) -> None:
    account = new_account().pk
    for _ in range(100):
        admit(account)
        clock[0] += 0.002
    clock[0] += 5
    assert admit(account).n_minute == 101
    assert rate_limiter.count_requests(account).n_minute == 102


def test_permits_of_one_minute_are_none_of_the_next(clock: list[float]) -> None:
    account = new_account().pk
    clock[0] = 1_000_019.9  # 40 s past a full minute is 1 000 020
    for _ in range(50):
        admit(account)
        clock[0] += 0.001
    clock[0] = 1_000_020.0
    assert admit(account).n_minute == 1
    assert admit(account).n_month == 52
    assert admit(account).n_minute == 3


def test_near_the_limit_each_request_is_counted_by_itself(asked: list[int], clock: list[float]) -> None:
    account = new_account().pk
    for _ in range(60):
        admit(account, rpm=100)
        clock[0] += 0.001
    assert set(asked) == {1}


def test_however_many_come_at_once_no_more_than_the_limit_get_in(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = time.gmtime()
    monkeypatch.setattr("evalsvc.accounts.access.permits.time.gmtime", lambda: moment)
    account, rpm = new_account().pk, 4000
    start = threading.Barrier(8)

    def send(_: int) -> int:
        start.wait()
        return sum(admit(account, rpm=rpm).n_minute <= rpm for _ in range(800))

    with ThreadPoolExecutor(8) as threads:
        n_admitted = sum(threads.map(send, range(8)))
    assert rpm - permits.MOST <= n_admitted <= rpm


def test_after_a_bump_nobody_goes_by_the_old_epoch() -> None:
    account, done = new_account().pk, threading.Event()
    seen: list[tuple[float, Any]] = []

    def call_on() -> None:
        while not done.is_set():
            began = time.monotonic()
            seen.append((began, admit(account).epoch))

    with ThreadPoolExecutor(3) as threads:
        for _ in range(3):
            threads.submit(call_on)
        bumped: list[tuple[float, Any]] = []
        for _ in range(5):
            bump_epoch(account)
            bumped.append((time.monotonic(), rate_limiter.count_requests(account).epoch))
        done.set()
    for at, epoch in bumped:
        later = [other for then, other in seen if then > at]
        assert not any(int(other) < int(epoch) for other in later)


def test_accounts_hold_permits_of_their_own(clock: list[float]) -> None:
    first, stranger = new_account().pk, new_account().pk
    for _ in range(50):
        admit(first)
        clock[0] += 0.001
    assert admit(stranger).n_minute == 1
    bump_epoch(stranger)
    clock[0] += 1
    assert admit(first).epoch != admit(stranger).epoch


def test_without_redis_nothing_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    account = new_account().pk
    admit(account)
    down: Any = rate_limiter.Admission(0, 0, None, 0)
    monkeypatch.setattr(rate_limiter, "count_requests", lambda *_, **__: down)
    permits._held.pop(account, None)
    assert admit(account) is down
    assert account not in permits._held
