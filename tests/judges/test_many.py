"""Hundreds of calls in one process: no thread for each, nobody waits for a slow endpoint, and money is settled."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisDown
from redis.exceptions import RedisError

from benchmarks.stub_llm import RunningStub, running_stub
from evalsvc.infra.redis import Script, get_shared_client
from evalsvc.judges.calls import counted, estimates
from evalsvc.judges.calls.loop import run
from evalsvc.judges.connections import memory
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.gateway import gateway_for
from evalsvc.judges.ledger import client, limits
from evalsvc.judges.ledger.limits import get_spend_today
from evalsvc.judges.questions.cache import CachedAnswer, single_flight
from evalsvc.outbound import aio
from evalsvc.outbound.client import post_json_async
from evaluators.gateway import Answer
from tests.judges.asking import GOOD, PRICES, Judge, question
from tests.judges.conftest import MESSAGES, facts
from tests.judges.reservations import acquired

N = 300
MODEL = "stub-judge-pass"


@pytest.fixture
def idle() -> Iterator[RunningStub]:
    """A stub that nobody else calls."""
    with running_stub() as running:
        yield running


async def asked(judge: Judge, n: int, model: str, **settings: Any) -> list[Answer]:
    """Ask so many different questions at once, each for a score of its own."""
    account_id = judge.caller.account.pk
    return await asyncio.gather(
        *(gateway_for(account_id).ask(question(), {"model": model, **settings}) for _ in range(n))
    )


def test_hundreds_are_in_flight_without_a_thread_for_each(idle: RunningStub) -> None:
    judge = Judge(idle)
    judge.ask()
    before, most = threading.active_count(), [0]

    async def watched() -> list[Answer]:
        answering = asyncio.ensure_future(asked(judge, N, "stub-judge-pass@3000"))
        while not answering.done():
            most[0] = max(most[0], threading.active_count())
            await asyncio.sleep(0.05)
        return answering.result()

    answers = run(watched())

    assert [answer.data for answer in answers] == [GOOD] * N
    assert idle.calls()["most_at_once"] > N / 2
    assert judge.n_calls() == N + 1
    # Two readers of the database at the most, and whatever else the suite has started meanwhile.
    assert most[0] <= before + 4


def test_a_hanging_endpoint_holds_up_nobody_else(idle: RunningStub) -> None:
    hanging, fast = Judge(idle), Judge(idle)

    async def both() -> tuple[int, list[Answer]]:
        stuck = asyncio.gather(asked(hanging, N, "stub-judge-pass:hang", timeout_seconds=60), return_exceptions=True)
        while hanging.n_calls() < N:
            await asyncio.sleep(0.1)
        answers = await asked(fast, 20, MODEL)
        n_stuck = hanging.n_calls() if not stuck.done() else 0
        stuck.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stuck
        return n_stuck, answers

    n_stuck, answers = run(both())
    assert n_stuck == N
    assert [answer.data for answer in answers] == [GOOD] * 20


def test_a_call_that_is_cancelled_is_settled(stub: RunningStub) -> None:
    connection = facts(stub.base_url, daily_budget=1.0, max_concurrency=1, tpm=100_000, **PRICES)

    async def left() -> None:
        call = asyncio.ensure_future(counted.complete_within_limits(connection, messages=MESSAGES, model="stub-hang"))
        while not spent(connection):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    run(left())
    # The endpoint may be working still, and will want its money; the permit is free.
    assert spent(connection) == pytest.approx(limits.estimate_cost(connection, estimates.estimate_tokens(MESSAGES)))
    assert acquired(connection)


def test_who_is_cancelled_before_the_call_has_taken_nothing() -> None:
    connection = facts(daily_budget=1.0, max_concurrency=1, rpm=100, tpm=100_000, **PRICES)

    async def left() -> None:
        taking = asyncio.ensure_future(limits.acquire_call(connection, "m", tokens=1000, seconds=30))
        await asyncio.sleep(0)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        # The client works in order: behind the first stands what takes, behind the second what gives it back.
        for _ in range(2):
            await client.ledger().ask("GET", "judge:test:nothing")

    run(left())
    assert get_shared_client().exists(limits._spend(connection.account_id, connection.id))
    assert spent(connection) == 0.0
    assert not get_shared_client().exists(limits._semaphore(connection))
    assert acquired(connection, tokens=1000)


def spent(connection: ConnectionFacts) -> float | None:
    return get_spend_today(account_id=connection.account_id, connection_id=connection.id)


def test_hundreds_who_want_the_same_answer_look_at_redis_once(monkeypatch: pytest.MonkeyPatch) -> None:
    account, digest, scripts = uuid.uuid4().int % 2**40, uuid.uuid4().hex, Counter[str]()
    put = client.LedgerClient._enqueue

    def counting(on: client.LedgerClient, command: client.QueuedCommand) -> Any:
        scripts[str(command.words[1])] += 1
        return put(on, command)

    monkeypatch.setattr(client.LedgerClient, "_enqueue", counting)
    n_brought = 0

    async def one() -> Any:
        nonlocal n_brought
        async with single_flight(account, digest, until=time.monotonic() + 60) as held:
            if held.found is None:
                n_brought += 1
                await asyncio.sleep(0.5)
                held.keep(CachedAnswer({"n": n_brought}, {}))
            return held.found

    async def many() -> list[Any]:
        return await asyncio.gather(*(one() for _ in range(N)))

    found = run(many())
    assert (n_brought, sum(each is None for each in found)) == (1, 1)
    assert {each.data["n"] for each in found if each is not None} == {1}
    assert sum(scripts.values()) == 2


def test_another_asks_after_one_who_brought_nothing() -> None:
    account, digest = uuid.uuid4().int % 2**40, uuid.uuid4().hex
    order: list[int] = []

    async def one(n: int) -> None:
        async with single_flight(account, digest, until=time.monotonic() + 60) as held:
            if held.found is None:
                order.append(n)
                await asyncio.sleep(0)
                if n < 2:
                    raise ValueError("no answer")
                held.keep(CachedAnswer({"n": n}, {}))

    async def many() -> list[Any]:
        return await asyncio.gather(*(one(n) for n in range(6)), return_exceptions=True)

    assert [type(each) for each in run(many())] == [ValueError, ValueError, *[type(None)] * 4]
    assert order == [0, 1, 2]


def test_without_redis_hundreds_are_answered(stub: RunningStub, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judge(stub)

    def down(batch: Any) -> list[Any]:
        return [RedisDown("down")] * len(batch)

    monkeypatch.setattr(client, "_execute_batch", down)
    answers = run(asked(judge, 50, MODEL))

    assert [answer.data for answer in answers] == [GOOD] * 50
    rich = facts(stub.base_url, daily_budget=1.0, **PRICES)
    with pytest.raises(CallFailed) as caught:
        run(counted.complete_within_limits(rich, messages=MESSAGES))
    assert (caught.value.code, caught.value.retry_after_seconds) == ("rate_limited", limits.WAIT_WITHOUT_REDIS_SECONDS)


def test_hundreds_read_the_connection_once_and_a_change_is_seen_at_once(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_reads = Counter[str]()
    read = memory._reading

    def counting(reading: Any) -> Any:
        n_reads["all"] += 1
        return read(reading)

    monkeypatch.setattr(memory, "_reading", counting)
    monkeypatch.setattr(memory, "BELIEVED_SECONDS", 1000.0)
    run(asked(judge, 50, MODEL))
    # One reads the connection, and one writes what was learnt of it.
    assert n_reads["all"] == 2

    judge.caller.patch(f"/v1/connections/{judge.connection['id']}", {"is_enabled": False})
    assert judge.failing(MODEL).code == "not_configured"


def test_a_reading_from_before_a_change_is_not_believed() -> None:
    account, began, changed = uuid.uuid4().int % 2**40, threading.Event(), threading.Event()

    def read() -> str:
        began.set()
        assert changed.wait(60)
        return "old"

    async def reading() -> str:
        return await memory.read_through(account, "thing", None, read)

    async def meanwhile() -> tuple[str, str]:
        old = asyncio.ensure_future(reading())
        await asyncio.to_thread(began.wait, 60)
        memory.forget_account(account)
        changed.set()
        return await old, await memory.read_through(account, "thing", None, lambda: "new")

    assert run(meanwhile()) == ("old", "new")


SETTLED = """
import asyncio, sys, time, uuid
import django; django.setup()
from evalsvc.judges.calls.counted import complete_within_limits
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.ledger.limits import get_spend_today
from evalsvc.judges.calls.loop import background
connection = ConnectionFacts(int(sys.argv[1]), uuid.UUID(sys.argv[2]), "x", sys.argv[3], "stub-hang", "k",
    price_input_per_million=1.0, price_output_per_million=2.0, daily_budget=1.0, max_concurrency=1)
asyncio.run_coroutine_threadsafe(complete_within_limits(connection, messages=[{"role": "user", "content": "x"}]), background().loop)
while not get_spend_today(account_id=connection.account_id, connection_id=connection.id):
    pass
time.sleep(1)  # the call is under way
print("left", flush=True)
"""


def test_a_process_that_ends_releases_its_permits(stub: RunningStub) -> None:
    connection = facts(stub.base_url, daily_budget=1.0, max_concurrency=1, **PRICES)
    command = [sys.executable, "-c", SETTLED, str(connection.account_id), str(connection.id), stub.base_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=dict(os.environ), check=False)

    assert (done.returncode, done.stdout) == (0, "left\n"), done.stderr
    assert acquired(connection)


def test_what_cannot_be_written_down_costs_the_others_nothing() -> None:
    async def both() -> Sequence[Any]:
        connected = client.ledger()
        return await asyncio.gather(
            connected.ask("SET", f"judge:test:{uuid.uuid4().hex}", "kept", "EX", 10),
            connected.ask("SET", f"judge:test:{uuid.uuid4().hex}", "\ud800", "EX", 10),
            connected.ask("NONSENSE"),
            connected.ask("GET", f"judge:test:{uuid.uuid4().hex}"),
            return_exceptions=True,
        )

    for found in (run(both()), run(both())):
        assert found[0] is True
        assert isinstance(found[1], UnicodeEncodeError)
        assert isinstance(found[2], RedisError)
        assert found[3] is None


def test_a_script_that_redis_has_forgotten_is_sent_again() -> None:
    script = Script(f"return ARGV[1] .. '{uuid.uuid4().hex}'")

    async def asked_for() -> Any:
        return await client.ledger().run(script, keys=[], args=["x"])

    first = run(asked_for())
    get_shared_client().script_flush()
    assert first == run(asked_for()) == run(asked_for())


def test_idle_connections_are_closed(stub: RunningStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(aio, "MAX_IDLE", 5)
    body = {"model": "stub-echo", "messages": MESSAGES}

    async def n_idle() -> list[int]:
        url = f"{stub.base_url}/chat/completions"
        await asyncio.gather(*(post_json_async(url, body, timeout_seconds=60) for _ in range(20)))
        found = [aio.wires()._n_idle]
        while aio.wires()._idle:
            await asyncio.sleep(0.05)
        return [*found, aio.wires()._n_idle]

    kept, left = asyncio.run(n_idle())
    assert kept <= 5 and left == 0
