"""Replies travel through the real Valkey from whoever scored to whoever waits."""

from __future__ import annotations

import os
import secrets
import select
import signal
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from evalsvc.evaluations.evaluate import replies
from evalsvc.evaluations.evaluate.replies import LIST_TTL_SECONDS, Waiter, reply_dispatcher, send_replies, send_reply
from evalsvc.infra.redis import make_client
from evalsvc.rest.edge import door as doors
from evalsvc.rest.edge.door import AdmittedRequest, ConcurrencyLimiter, serve_request
from tests.conftest import wait_until

PATIENCE = 30.0
ACCOUNT = 1


@pytest.fixture
def request_id() -> int:
    return secrets.randbits(62)


@pytest.fixture
def address() -> Iterator[str]:
    """A list that nobody reads."""
    name = f"evalsvc:replies:test:{secrets.token_hex(8)}"
    yield name
    make_client(timeout=5).delete(name)


def verdict(position: int) -> dict[str, Any]:
    return {"position": position, "status": "success", "score": 0.1 + position, "explanation": "é\n\u2028"}


def test_a_reply_reaches_its_waiter(request_id: int) -> None:
    box = reply_dispatcher()
    with box.waiting_for(request_id, Waiter(ACCOUNT)) as waiter:
        send_reply(box.address, request_id, [verdict(0), verdict(1)])

        assert waiter.take(PATIENCE) == [verdict(0), verdict(1)]


def test_a_waiter_may_come_first_and_sleeps_until_the_reply(request_id: int) -> None:
    box, heard = reply_dispatcher(), []
    with box.waiting_for(request_id, Waiter(ACCOUNT)) as waiter:
        thread = threading.Thread(target=lambda: heard.extend(waiter.take(PATIENCE)))
        thread.start()
        send_reply(box.address, request_id, [verdict(0)])
        thread.join(PATIENCE)

    assert heard == [verdict(0)]


def test_everyone_who_waits_for_a_request_hears_it(request_id: int) -> None:
    box = reply_dispatcher()
    with box.waiting_for(request_id, Waiter(ACCOUNT)) as one, box.waiting_for(request_id, Waiter(ACCOUNT)) as other:
        send_reply(box.address, request_id, [verdict(0)])

        assert one.take(PATIENCE) == other.take(PATIENCE) == [verdict(0)]


def test_requests_hear_their_own_replies_only(request_id: int) -> None:
    box = reply_dispatcher()
    with (
        box.waiting_for(request_id, Waiter(ACCOUNT)) as mine,
        box.waiting_for(request_id + 1, Waiter(ACCOUNT)) as theirs,
    ):
        send_reply(box.address, request_id + 1, [verdict(1)])
        send_reply(box.address, request_id, [verdict(0)])

        assert mine.take(PATIENCE) == [verdict(0)]
        assert theirs.take(PATIENCE) == [verdict(1)]


def test_a_reply_that_nobody_waits_for_harms_nobody(request_id: int) -> None:
    box = reply_dispatcher()
    send_reply(box.address, request_id + 1, [verdict(1)])
    with box.waiting_for(request_id, Waiter(ACCOUNT)) as waiter:
        send_reply(box.address, request_id, [verdict(0)])

        assert waiter.take(PATIENCE) == [verdict(0)]


def test_replies_of_several_lanes_arrive_in_order(request_id: int) -> None:
    box = reply_dispatcher()
    heard: list[Any] = []
    with box.waiting_for(request_id, Waiter(ACCOUNT)) as waiter:
        for i in range(5):
            send_reply(box.address, request_id, [verdict(i)])
        while len(heard) < 5:
            some = waiter.take(PATIENCE)
            assert some
            heard += some

    assert heard == [verdict(i) for i in range(5)]


def test_who_stops_waiting_is_forgotten_even_after_an_error(request_id: int) -> None:
    box = reply_dispatcher()
    with box.waiting_for(request_id, Waiter(ACCOUNT)) as first:
        with pytest.raises(ValueError, match="broke"), box.waiting_for(request_id, Waiter(ACCOUNT)) as second:
            raise ValueError("broke")
        assert box._waiters[request_id] == [first]
        box.hand_out(request_id, [{"position": 0}])
        assert second.take(0) == []
        assert first.take(0) == [{"position": 0}]

    assert request_id not in box._waiters


def test_nothing_is_taken_twice() -> None:
    waiter = Waiter(ACCOUNT)
    waiter.deliver([verdict(0)])
    waiter.deliver([verdict(1)])

    assert waiter.take(PATIENCE) == [verdict(0), verdict(1)]
    assert waiter.take(0) == []
    assert waiter.take(-5) == []
    waiter.deliver([verdict(2)])
    assert waiter.take(-5) == [verdict(2)]


def test_what_goes_to_one_process_wakes_it_once(address: str, request_id: int) -> None:
    client = make_client(timeout=5)
    requests = [request_id, request_id + 1, request_id + 2]
    with client.pipeline(transaction=False) as pipe:
        for one in requests:
            replies.listen(pipe, one, address)
        pipe.execute()
    send_replies({one: [verdict(0)] for one in requests})

    (item,) = client.lrange(address, 0, -1)
    sent = [{"request_id": one, "verdicts": [verdict(0)]} for one in requests]
    assert orjson.loads(item) == sent
    assert 0 < client.ttl(address) <= LIST_TTL_SECONDS


def test_a_reply_of_an_earlier_worker_is_understood(request_id: int) -> None:
    box = reply_dispatcher()
    with box.waiting_for(request_id, Waiter(ACCOUNT)) as waiter:
        make_client(timeout=5).rpush(box.address, orjson.dumps({"request_id": request_id, "verdicts": [verdict(0)]}))

        assert waiter.take(PATIENCE) == [verdict(0)]


def test_replies_that_nobody_reads_vanish(address: str) -> None:
    send_reply(address, 1, [verdict(0)])

    assert 0 < make_client(timeout=5).ttl(address) <= LIST_TTL_SECONDS


def test_an_unreachable_redis_costs_the_reply_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreachable:
        def pipeline(self, **_: Any) -> Any:
            raise RedisConnectionError

    monkeypatch.setattr(replies, "get_shared_client", lambda **_: Unreachable())

    send_reply("nowhere", 1, [verdict(0)])


def test_a_process_has_one_box_whoever_asks() -> None:
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(reply_dispatcher())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert len(found) == 8
    assert set(map(id, found)) == {id(reply_dispatcher())}


def test_a_forked_child_has_an_address_of_its_own(request_id: int) -> None:
    box = reply_dispatcher()
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        try:
            os.write(writer, reply_dispatcher().address.encode())
        finally:
            os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], PATIENCE)
    address = os.read(reader, 1000).decode() if ready else ""
    os.close(reader)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

    assert address.startswith(f"evalsvc:replies:{child}:")
    assert address != box.address
    assert reply_dispatcher() is box
    with box.waiting_for(request_id, Waiter(ACCOUNT)) as waiter:
        send_reply(box.address, request_id, [verdict(0)])
        assert waiter.take(PATIENCE) == [verdict(0)]


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> ConcurrencyLimiter:
    """A door by which nobody has come."""
    door = ConcurrencyLimiter(most=100)
    monkeypatch.setattr(doors, "door", door)
    monkeypatch.setattr(replies, "door", door)
    monkeypatch.setattr(doors, "LONGEST_TURN_SECONDS", PATIENCE * 10)
    return door


def busy(door: ConcurrencyLimiter, n: int) -> list[AdmittedRequest]:
    """Have so many requests at work."""
    visits = [AdmittedRequest(lambda: None) for _ in range(n)]
    for visit in visits:
        door.admit(visit)
    return visits


def test_who_waits_is_not_at_work_and_who_is_woken_is_at_once(door: ConcurrencyLimiter) -> None:
    waiter, (visit,) = Waiter(ACCOUNT), busy(door, 1)

    def wait() -> list[dict[str, Any]]:
        with serve_request(visit):
            taken = waiter.take(PATIENCE)
            assert door.n_at_work == 1
            assert waiter.take(0) == []
            assert door.n_at_work == 1
            return taken

    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(wait)
        wait_until(lambda: door.n_at_work == 0)
        with waiter._lock:
            waiter._verdicts.append(verdict(0))
            waiter._wake()
            assert door.n_at_work == 1, "Counted by whoever wakes it, before it has the interpreter."
        assert taken.result(PATIENCE) == [verdict(0)]
    assert door.n_at_work == 0


def test_verdicts_are_handed_out_while_few_are_at_work(
    door: ConcurrencyLimiter, request_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors, "LONGEST_PAUSE_SECONDS", PATIENCE * 2)
    one, *_ = busy(door, doors.FEW)
    with reply_dispatcher().waiting_for(request_id, Waiter(ACCOUNT)) as waiter:
        send_reply(reply_dispatcher().address, request_id, [verdict(0)])
        wait_until(lambda: door.is_watched)
        assert not waiter._verdicts
        door.finish(one)
        assert waiter.take(PATIENCE) == [verdict(0)]


def test_however_many_are_at_work_a_verdict_comes(door: ConcurrencyLimiter, request_id: int) -> None:
    busy(door, doors.FEW + 5)
    with reply_dispatcher().waiting_for(request_id, Waiter(ACCOUNT)) as waiter:
        send_reply(reply_dispatcher().address, request_id, [verdict(0)])
        assert waiter.take(PATIENCE) == [verdict(0)]
