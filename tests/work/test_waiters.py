"""A real gunicorn whose every place to wait is taken: it answers everything else, and loses nothing of what waits."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from benchmarks.http_caller import Caller as HttpCaller
from tests.conftest import Caller, findings, new_caller, scores_of, wait_until
from tests.work.waiting_web import PATIENCE, Web, fetched, fill, status, waiting_web

N_PLACES = 4


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """8 threads, of which 4 may wait."""
    with waiting_web(tmp_path / "web.log", n_places=N_PLACES, n_threads=8) as web:
        yield web


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(32) as pool:
        yield pool


def test_what_does_not_wait_is_answered_while_every_place_is_taken(
    web: Web, pool: ThreadPoolExecutor, alice: Caller, charlie: Caller
) -> None:
    asked = fill(web, pool, alice, N_PLACES)
    # Many more than there are threads, and each answered before any verdict is there. One after the other: of eight
    # threads an account may occupy one with a body that is awaited.
    more = [web.evaluate(alice, f"Hello {i}.", Prefer="wait=60") for i in range(20)]

    assert {status(answer) for answer in more} == {"pending"}
    assert all(answer.headers["Location"] == f"/v1/evaluate/{answer.json()['id']}" for answer in more)
    assert all(1 <= int(answer.headers["Retry-After"]) <= 10 for answer in more)
    assert [status(web.evaluate(one, "Paris", "exact-match")) for one in (alice, charlie)] == ["success", "success"]
    for path in ("/healthz", "/readyz", "/console/sign-in", "/v1/openapi.json"):
        assert httpx.get(web.url + path, timeout=PATIENCE).status_code == 200, path
    assert web.n_waiters() == N_PLACES
    assert not any(one.done() for one in asked)

    with web.working():
        assert [status(one.result(PATIENCE)) for one in asked] == ["success"] * N_PLACES
        assert {status(fetched(web, alice, answer)) for answer in more} == {"success"}
    assert len(scores_of(alice, "toxicity")) == N_PLACES + 20
    assert findings(alice, charlie) == {}


def test_a_strangers_share_comes_from_whoever_has_waited_longest(
    web: Web, pool: ThreadPoolExecutor, alice: Caller, charlie: Caller
) -> None:
    asked = fill(web, pool, alice, N_PLACES)
    theirs = [pool.submit(web.evaluate, charlie, f"Hello {i}.", Prefer="wait=60") for i in range(2)]
    first, second = (one.result(PATIENCE) for one in asked[:2])
    assert (status(first), status(second)) == ("pending", "pending")
    # Both have the same share now: whoever comes next waits for none of it.
    wait_until(lambda: web.n_waiters() == N_PLACES)
    assert status(web.evaluate(charlie, "Once more.", Prefer="wait=60")) == "pending"
    assert not any(one.done() for one in asked[2:] + theirs)
    assert web.call(charlie, "GET", first.headers["Location"], Prefer="wait=60").status_code == 404

    with web.working():
        assert [status(one.result(PATIENCE)) for one in asked[2:] + theirs] == ["success"] * 4
        assert [status(fetched(web, alice, answer)) for answer in (first, second)] == ["success"] * 2
    assert len(scores_of(alice, "toxicity")) == N_PLACES


def test_a_call_repeated_without_a_place_is_still_the_same_call(
    web: Web, pool: ThreadPoolExecutor, alice: Caller
) -> None:
    """As clients do that take `pending` for a failure: nothing is worked twice, or counted twice."""
    asked = fill(web, pool, alice, N_PLACES)
    answered = [web.evaluate(alice, "Hello.", Prefer="wait=60") for _ in range(3)]
    keyed = {"Prefer": "wait=60", "Idempotency-Key": "k"}
    answered_by_key = [web.evaluate(alice, "Hello you.", **keyed) for _ in range(3)]

    assert {status(answer) for answer in answered + answered_by_key} == {"pending"}
    assert len({answer.json()["id"] for answer in answered}) == 1
    assert len({answer.json()["id"] for answer in answered_by_key}) == 1
    with web.working():
        for one in asked:
            one.result(PATIENCE)
        assert status(web.evaluate(alice, "Hello.", Prefer="wait=60")) == "success"
        assert status(fetched(web, alice, answered_by_key[0])) == "success"
    assert len(scores_of(alice, "toxicity")) == N_PLACES + 2


@pytest.mark.slow
def test_a_process_that_stops_keeps_nobody_waiting(web: Web, pool: ThreadPoolExecutor, alice: Caller) -> None:
    asked = fill(web, pool, alice, N_PLACES)
    os.kill(web.process.pid, signal.SIGTERM)

    assert [status(one.result(PATIENCE)) for one in asked] == ["pending"] * N_PLACES
    # It would have waited 25 s for them, and then cut them off without an answer.
    web.process.wait(PATIENCE)
    assert {one.result().headers["Retry-After"] for one in asked} <= {str(n) for n in range(1, 11)}


def test_a_key_of_an_account_that_only_reads_may_wait_too(web: Web, pool: ThreadPoolExecutor, alice: Caller) -> None:
    reader = new_caller(alice.account, scope="read")
    first = web.evaluate(alice, "Hello.", Prefer="wait=0")
    asked = pool.submit(web.call, reader, "GET", first.headers["Location"], Prefer="wait=60")
    wait_until(lambda: web.n_waiters() == 1)
    with web.working():
        assert status(asked.result(PATIENCE)) == "success"


def test_a_crowd_at_the_door_leaves_a_stranger_its_turn(web: Web, alice: Caller, charlie: Caller) -> None:
    """Connections of one account ask all the time; in the order of coming, all of theirs would be before another's."""
    n_crowd, n_asked = 160, 15
    answered = asyncio.run(crowd_beside(web, alice, charlie, n_crowd=n_crowd, n_asked=n_asked))
    assert answered < n_asked * n_crowd / 2


async def crowd_beside(web: Web, crowd: Caller, stranger: Caller, *, n_crowd: int, n_asked: int) -> int:
    """Return how many requests of the crowd were answered while the stranger had so many answered."""
    port, n_answered, is_over = int(web.url.rpartition(":")[2]), 0, False
    body = json.dumps({"evaluators": [{"evaluator": "exact-match"}], "output": "a", "label": "a"}).encode()

    async def ask_on() -> None:
        nonlocal n_answered
        caller = await HttpCaller.open(port, crowd.key)
        while not is_over:
            assert (await caller.call("POST", "/v1/evaluate", body))[0] == 200
            n_answered += 1
        caller.close()

    alone = await HttpCaller.open(port, stranger.key)
    await alone.call("GET", "/v1/whoami")
    asking = [asyncio.create_task(ask_on()) for _ in range(n_crowd)]
    while n_answered < n_crowd * 2:
        await asyncio.sleep(0.01)
    before = n_answered
    for _ in range(n_asked):
        assert (await alone.call("GET", "/v1/whoami"))[0] == 200
    found, is_over = n_answered - before, True
    await asyncio.gather(*asking)
    alone.close()
    return found


def test_who_says_nothing_holds_no_thread_and_is_heard_later(web: Web, alice: Caller) -> None:
    with contextlib.ExitStack() as exits:
        address = "127.0.0.1", int(web.url.rpartition(":")[2])
        silent = [exits.enter_context(socket.create_connection(address)) for _ in range(24)]
        assert status(web.evaluate(alice, "Good day.", "exact-match")) == "success"
        for each in silent:
            each.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for each in silent:
            assert each.recv(100).startswith(b"HTTP/1.1 200")
