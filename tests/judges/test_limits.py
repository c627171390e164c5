"""One ledger for all workers: calls, tokens, 429, concurrency and money."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisDown

from benchmarks.stub_llm import RunningStub, running_stub
from evalsvc.infra.redis import get_shared_client
from evalsvc.judges.calls import counted
from evalsvc.judges.calls.estimates import estimate_tokens
from evalsvc.judges.calls.loop import run
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.ledger import limits
from evalsvc.judges.ledger.limits import Reservation, get_spend_today
from tests.judges.conftest import MESSAGES, facts
from tests.judges.reservations import acquired, settle, take

MODEL = "m"
PRICES: dict[str, Any] = {"price_input_per_million": 1.0, "price_output_per_million": 2.0}


def ask(connection: Any, **how: Any) -> Any:
    return run(counted.complete_within_limits(connection, **how))


def feed_back_429(connection: Any, model: str, seconds: float | None = None) -> float:
    return run(limits.feed_back_429(connection, model, seconds))


def acquired_or_none(connection: Any) -> Reservation | None:
    try:
        return acquired(connection)
    except CallFailed:
        return None


def taken(connection: Any, n: int, *, tokens: int = 1) -> int:
    return sum(take(connection, MODEL, tokens=tokens) == 0.0 for _ in range(n))


def test_without_limits_everything_goes() -> None:
    assert taken(facts(), 50, tokens=10**6) == 50


def test_calls_a_minute() -> None:
    connection = facts(rpm=5)

    assert taken(connection, 8) == 5
    assert 0 < take(connection, MODEL, tokens=1) <= 61


def test_tokens_a_minute() -> None:
    connection = facts(tpm=1000)

    assert taken(connection, 5, tokens=300) == 3
    assert take(connection, MODEL, tokens=100) == 0.0
    assert take(connection, MODEL, tokens=1) > 0


def test_a_refused_take_takes_nothing() -> None:
    connection = facts(rpm=2, tpm=100, max_concurrency=2, daily_budget=1.0, **PRICES)
    take(connection, MODEL, tokens=90)

    assert take(connection, MODEL, tokens=50) > 0
    assert take(connection, MODEL, tokens=10) == 0.0
    assert spent(connection) == pytest.approx(100 * 2e-6)


def test_what_is_larger_than_the_limit_takes_all_of_it() -> None:
    connection = facts(tpm=100)

    assert take(connection, MODEL, tokens=5000) == 0.0
    assert take(connection, MODEL, tokens=1) > 0


def test_a_minute_later_there_is_room() -> None:
    connection = facts(rpm=2)
    key = limits._keys(connection, MODEL)[0]
    now = get_shared_client().time()[0]
    get_shared_client().hset(key, mapping={now - 61: 1, now - 30: 1})

    assert take(connection, MODEL, tokens=1) == 0.0
    wait, later = take(connection, MODEL, tokens=1), get_shared_client().time()[0]
    assert now + 25 <= later + wait and wait <= 31
    assert get_shared_client().hexists(key, str(now - 61)) is False


def test_models_are_counted_apart() -> None:
    connection = facts(rpm=1)

    assert take(connection, "a", tokens=1) == 0.0
    assert take(connection, "b", tokens=1) == 0.0


def test_accounts_share_neither_limits_nor_budgets() -> None:
    mine = facts(rpm=1, daily_budget=0.001, **PRICES)
    theirs = replace(mine, account_id=mine.account_id + 1)

    assert take(mine, MODEL, tokens=500) == 0.0
    assert take(theirs, MODEL, tokens=100) == 0.0
    feed_back_429(mine, "n", 30)
    assert take(theirs, "n", tokens=0) == 0.0
    assert get_spend_today(account_id=mine.account_id, connection_id=mine.id) == pytest.approx(0.001)


def test_threads_take_exactly_the_limit() -> None:
    connection = facts(rpm=40, tpm=60)
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(taken(connection, 20))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(counts) == 40


TAKER = """
import sys, uuid
import django; django.setup()
from evalsvc.judges.connections.facts import ConnectionFacts
from tests.judges.reservations import take
connection = ConnectionFacts(int(sys.argv[1]), uuid.UUID(sys.argv[2]), "x", "http://x", "m", "", rpm=30)
print("ready", flush=True)
sys.stdin.readline()
print(sum(take(connection, "m", tokens=1) == 0.0 for _ in range(20)))
"""


def test_processes_take_exactly_the_limit() -> None:
    command = [sys.executable, "-c", TAKER, str(uuid.uuid4().int % 2**40), str(uuid.uuid4())]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    running = [subprocess.Popen(command, env=dict(os.environ), text=True, **pipes) for _ in range(3)]
    for process in running:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()

    # Together, and not a minute apart as a busy machine may start them.
    assert sum(int(process.communicate(timeout=100)[0]) for process in running) == 30


def test_unused_tokens_come_back() -> None:
    connection = facts(tpm=1000)
    settle(acquired(connection, MODEL, tokens=1000), used_tokens=400)

    assert take(connection, MODEL, tokens=600) == 0.0
    assert take(connection, MODEL, tokens=1) > 0


def test_tokens_beyond_the_estimate_are_counted() -> None:
    connection = facts(tpm=1000)
    settle(acquired(connection, MODEL, tokens=100), used_tokens=900)

    assert take(connection, MODEL, tokens=101) > 0
    assert take(connection, MODEL, tokens=100) == 0.0


def test_what_comes_back_comes_from_the_oldest() -> None:
    connection = facts(tpm=1000)
    key = limits._keys(connection, MODEL)[1]
    now = get_shared_client().time()[0]
    get_shared_client().hset(key, mapping={now - 20: 300, now: 500})

    settle(Reservation(connection, MODEL, 500, 0.0, "", limits._keys(connection, MODEL), False), used_tokens=100)

    assert {int(slot) - now: int(n) for slot, n in get_shared_client().hgetall(key).items()} == {-20: 0, 0: 400}


def test_a_429_holds_everybody() -> None:
    connection = facts()

    assert feed_back_429(connection, MODEL, 700.0) == 700.0
    assert 600 < take(connection, MODEL, tokens=1) <= 700.0
    assert take(connection, "another", tokens=1) == 0.0


def test_a_shorter_429_does_not_end_a_longer_one() -> None:
    connection = facts()
    feed_back_429(connection, MODEL, 500.0)

    assert feed_back_429(connection, MODEL, 1.0) > 400


def test_pauses_without_retry_after_grow_and_end_with_a_success() -> None:
    connection = facts()
    block = limits._keys(connection, MODEL)[2]

    def strike() -> float:
        get_shared_client().delete(block)  # the pause is over
        return feed_back_429(connection, MODEL)

    assert [strike() for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    get_shared_client().delete(block)
    settle(acquired(connection), used_tokens=0)
    assert strike() == 1.0


def test_refusals_of_calls_under_way_are_one_refusal() -> None:
    connection = facts()
    block = limits._keys(connection, MODEL)[2]
    for pause in (1.0, 2.0, 4.0, 8.0, 16.0):
        assert feed_back_429(connection, MODEL) == pause
        get_shared_client().delete(block)

    # The pause is long enough to last for all five, however slow the machine.
    assert [feed_back_429(connection, MODEL) <= 32.0 for _ in range(5)] == [True] * 5
    get_shared_client().delete(block)
    assert feed_back_429(connection, MODEL) == 60.0


def test_an_absurd_retry_after_is_cut() -> None:
    assert feed_back_429(facts(), MODEL, 10.0**9) == 3600


def spent(connection: Any) -> float | None:
    return get_spend_today(account_id=connection.account_id, connection_id=connection.id)


def test_a_budget_is_reserved_and_settled() -> None:
    connection = facts(daily_budget=0.01, **PRICES)

    reservation = acquired(connection, MODEL, tokens=1000)
    assert spent(connection) == pytest.approx(0.002)
    settle(reservation, used_tokens=500, used_cost=0.0005)
    assert spent(connection) == pytest.approx(0.0005)


def test_a_budget_is_not_exceeded() -> None:
    connection = facts(daily_budget=0.01, **PRICES)

    assert taken(connection, 5, tokens=1000) == 5
    with pytest.raises(CallFailed) as caught:
        take(connection, MODEL, tokens=1000)
    assert (caught.value.code, caught.value.is_transient) == ("budget_exhausted", False)
    assert 0 < (caught.value.retry_after_seconds or 0) <= 86_400
    assert spent(connection) == pytest.approx(0.01)


def test_a_budget_of_nothing_allows_nothing() -> None:
    with pytest.raises(CallFailed, match="budget"):
        take(facts(daily_budget=0.0, **PRICES), MODEL, tokens=0)


def test_threads_do_not_exceed_a_budget() -> None:
    connection = facts(daily_budget=0.02, **PRICES)
    counts: list[int] = []

    def work() -> None:
        for _ in range(5):
            try:
                counts.append(int(take(connection, MODEL, tokens=1000) == 0.0))
            except CallFailed:
                counts.append(0)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 10


def test_concurrency() -> None:
    connection = facts(max_concurrency=2)
    first, second = acquired_or_none(connection), acquired_or_none(connection)

    assert first and second
    assert acquired_or_none(connection) is None
    settle(first, used_tokens=0)
    settle(first, used_tokens=0)
    assert acquired_or_none(connection)
    assert acquired_or_none(connection) is None


def test_a_permit_that_nobody_released_falls_free() -> None:
    connection = facts(max_concurrency=1)
    get_shared_client().zadd(limits._semaphore(connection), {"of-a-dead-worker": 1})

    assert acquired_or_none(connection)


@pytest.fixture
def no_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    class Down:
        async def run(self, *args: Any, **more: Any) -> Any:
            raise RedisDown

        def get(self, key: str) -> Any:
            raise RedisDown

    monkeypatch.setattr(limits, "ledger", Down)
    monkeypatch.setattr(limits, "get_shared_client", Down)


def test_without_redis_rates_are_not_limited(no_redis: None, caplog: pytest.LogCaptureFixture) -> None:
    connection = facts(rpm=1, tpm=1, max_concurrency=1)

    assert taken(connection, 3) == 3
    assert "Redis does not answer" in caplog.text
    settle(acquired(connection), used_tokens=1)
    assert feed_back_429(connection, MODEL, 3.0) == 3.0
    assert spent(connection) is None


def test_without_redis_money_is_not_spent(no_redis: None) -> None:
    assert take(facts(daily_budget=1.0, **PRICES), MODEL, tokens=1) == limits.WAIT_WITHOUT_REDIS_SECONDS


def test_an_asked_call_is_counted_and_settled(stub: Any) -> None:
    connection = facts(stub.base_url, tpm=10_000, daily_budget=1.0, **PRICES)

    done = ask(connection, messages=MESSAGES)

    assert spent(connection) == pytest.approx(done.cost)
    used = done.input_tokens + done.output_tokens
    assert take(connection, "stub-echo", tokens=10_000 - used) == 0.0


def test_an_asked_call_does_not_wait(stub: Any) -> None:
    connection = facts(stub.base_url, rpm=1, key=f"key-{uuid.uuid4().hex}")
    ask(connection, messages=MESSAGES)

    with pytest.raises(CallFailed) as caught:
        ask(connection, messages=MESSAGES)
    assert (caught.value.code, caught.value.is_transient) == ("rate_limited", True)
    assert (caught.value.retry_after_seconds or 0) > 1
    assert stub.calls()["by_key"][connection.key] == 1


def test_a_call_that_was_left_stays_paid_for(stub: Any) -> None:
    connection = facts(stub.base_url, daily_budget=1.0, **PRICES)

    with pytest.raises(CallFailed):
        ask(connection, messages=MESSAGES, model="stub-hang", deadline_seconds=0.2)
    assert spent(connection) == pytest.approx(limits.estimate_cost(connection, estimate_tokens(MESSAGES)))


def test_a_call_that_failed_at_once_is_not_paid_for(stub: Any) -> None:
    connection = facts(stub.base_url, daily_budget=1.0, **PRICES)

    with pytest.raises(CallFailed):
        ask(connection, messages=MESSAGES, model="stub-500")
    assert spent(connection) == 0.0


@pytest.fixture
def stub_of_its_own() -> Iterator[RunningStub]:
    """One where no call of another test is still under way."""
    with running_stub() as running:
        yield running


def test_asked_calls_keep_to_the_semaphore(stub_of_its_own: RunningStub) -> None:
    stub = stub_of_its_own
    connection = facts(stub.base_url, max_concurrency=2)
    outcomes: list[str] = []

    def work() -> None:
        try:
            ask(connection, messages=MESSAGES, model="stub-slow-300")
            outcomes.append("ok")
        except CallFailed as failed:
            outcomes.append(failed.code)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(outcomes) <= {"ok", "rate_limited"}
    assert stub.calls()["most_at_once"] <= 2
    assert acquired_or_none(connection)


def test_two_accounts_share_no_budget() -> None:
    first = facts(**PRICES, daily_budget=1e-6)
    second = facts(id=first.id, **PRICES, daily_budget=1.0)
    with pytest.raises(CallFailed):
        take(first, MODEL, tokens=1000)

    assert take(second, MODEL, tokens=1000) == 0.0
