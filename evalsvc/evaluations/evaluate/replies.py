"""Deliver workers' replies to waiting requests: one reply list per web process, dispatched by one thread.

A worker commits before it pushes, so a reply is never ahead of the database; a lost reply costs one poll.

The process that enqueues work sends its address along. A process that waits for work enqueued by another one registers
its address in Redis under the request's id, and the worker sends it the reply as well.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import orjson
from django.conf import settings
from redis.client import Pipeline
from redis.exceptions import RedisError

from evalsvc.evaluations.evaluate.waiting_room import Release
from evalsvc.infra.redis import get_shared_client, make_client
from evalsvc.rest.edge.door import AdmittedRequest, current_visit, door

log = logging.getLogger(__name__)
LIST_TTL_SECONDS = 120
BLOCK_SECONDS = 5
PAUSE_SECONDS = 0.5
PUSHING_SECONDS = 2.0
# Short, because a waiting request polls the database as well.
ANNOUNCING_SECONDS = 0.5


class Waiter:
    """One who waits for the replies to a request of an account."""

    def __init__(self, account_id: int) -> None:
        self.account_id = account_id
        self.released: Release | None = None
        self._arrived = threading.Event()
        self._lock = threading.Lock()
        self._verdicts: list[dict[str, Any]] = []
        self._visit: AdmittedRequest | None = None

    def deliver(self, verdicts: list[dict[str, Any]]) -> None:
        """Hand verdicts to the waiting thread."""
        with self._lock:
            self._verdicts.extend(verdicts)
            self._wake()

    def release(self, why: Release) -> None:
        """Let the waiting thread go on without the rest."""
        with self._lock:
            self.released = why
            self._wake()

    def take(self, seconds: float) -> list[dict[str, object]]:
        """Wait for verdicts, at most so long; an empty list means that none came, or that the waiter is released."""
        with self._lock:
            if not self._arrived.is_set() and (visit := current_visit()) is not None:
                self._visit = visit
                door.release(visit)
        self._arrived.wait(max(0.0, seconds))
        with self._lock:
            verdicts, self._verdicts = self._verdicts, []
            self._go_on()
            if self.released is None:
                self._arrived.clear()
        return verdicts

    def _wake(self) -> None:
        self._arrived.set()
        # From now on, and not only once it has the interpreter: who wakes others must know.
        self._go_on()

    def _go_on(self) -> None:
        if self._visit is not None:
            door.reacquire(self._visit)
            self._visit = None


class ReplyDispatcher:
    """The process' reply list and its dispatcher thread, started by the first request that waits."""

    def __init__(self) -> None:
        self.address = f"evalsvc:replies:{os.getpid()}:{secrets.token_hex(8)}"
        self._waiters: dict[int, list[Waiter]] = {}
        self._looked_at: dict[int, float] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._dispatch, name="replies", daemon=True).start()

    @contextmanager
    def waiting_for(self, request_id: int, waiter: Waiter) -> Iterator[Waiter]:
        """Listen for the verdicts of a request; begin before its work is enqueued, or `announce` that you do."""
        with self._lock:
            self._waiters.setdefault(request_id, []).append(waiter)
        try:
            yield waiter
        finally:
            with self._lock:
                self._waiters[request_id].remove(waiter)
                if not self._waiters[request_id]:
                    del self._waiters[request_id]

    def announce(self, request_id: int) -> bool:
        """Subscribe to the request's verdicts, even if another process enqueued the work; return whether it succeeded.

        Earlier verdicts might have been sent elsewhere: poll the database afterwards.
        """
        try:
            with get_shared_client(timeout=ANNOUNCING_SECONDS).pipeline(transaction=False) as pipe:
                listen(pipe, request_id, self.address)
                pipe.execute()
        except RedisError:
            log.warning("replies to request %s not announced: Redis is unavailable", request_id)
            return False
        return True

    def requests_to_poll(self, account_id: int, seconds: float) -> list[int]:
        """Return the account's requests that are waited for here; empty if they were already polled within `seconds`.

        The caller polls for all of them and hands the verdicts out: a hundred waiting requests cost one query.
        """
        now = time.monotonic()
        with self._lock:
            self._looked_at = {account: at for account, at in self._looked_at.items() if now - at < seconds}
            if account_id in self._looked_at:
                return []
            self._looked_at[account_id] = now
            return [
                request_id
                for request_id, waiters in self._waiters.items()
                if any(waiter.account_id == account_id for waiter in waiters)
            ]

    def hand_out(self, request_id: int, verdicts: list[dict[str, Any]]) -> None:
        """Give verdicts to everyone here who waits for the request."""
        with self._lock:
            waiters = list(self._waiters.get(request_id, ()))
        for waiter in waiters:
            waiter.deliver(verdicts)

    def _dispatch(self) -> None:
        client = make_client(timeout=BLOCK_SECONDS + 5)
        is_down = False
        while True:
            try:
                item = client.blpop([self.address], timeout=BLOCK_SECONDS)
            except RedisError:
                # The waiting requests read the database meanwhile. One line an outage, not one an attempt.
                if not is_down:
                    log.warning("replies: Redis is unavailable")
                is_down = True
                time.sleep(PAUSE_SECONDS)
                continue
            is_down = False
            if item is not None:
                for reply in _parse_replies(cast("bytes", item[1])):
                    door.wait_for_capacity()
                    self.hand_out(reply["request_id"], reply["verdicts"])


def _parse_replies(item: bytes) -> list[dict[str, Any]]:
    payload = orjson.loads(item)
    # Workers of earlier versions push each reply by itself.
    return payload if isinstance(payload, list) else [payload]


_boxes: dict[int, ReplyDispatcher] = {}
_boxes_lock = threading.Lock()


def reply_dispatcher() -> ReplyDispatcher:
    """Return this process' box; a forked child makes its own."""
    with _boxes_lock:
        box = _boxes.get(os.getpid())
        if box is None:
            box = _boxes[os.getpid()] = ReplyDispatcher()
        return box


def listeners_key(request_id: int) -> str:
    """Return the name of the set of addresses to which a request's verdicts go."""
    return f"evalsvc:listeners:{request_id}"


def listen(pipe: Pipeline, request_id: int, address: str) -> None:
    """Have the request's verdicts sent to an address as well."""
    key = listeners_key(request_id)
    pipe.sadd(key, address)
    pipe.expire(key, settings.MAX_WAIT_SECONDS + LIST_TTL_SECONDS)


def send_reply(address: str | None, request_id: int, verdicts: Sequence[Mapping[str, object]]) -> None:
    """Push committed verdicts to the address that came with the work and to all announced listeners."""
    send_replies({request_id: verdicts}, address=address)


def send_replies(verdicts: Mapping[int, Sequence[Mapping[str, object]]], *, address: str | None = None) -> None:
    """Push committed verdicts, by request, to all announced listeners, and to an address if given.

    A failure is logged: the waiting requests poll the database themselves. Everything for one address is sent as one
    item, so that its process wakes once.
    """
    replies = [{"request_id": request_id, "verdicts": some} for request_id, some in verdicts.items()]
    try:
        with get_shared_client(timeout=PUSHING_SECONDS).pipeline(transaction=False) as pipe:
            for request_id in verdicts:
                pipe.smembers(listeners_key(request_id))
            if address:
                _push(pipe, address, replies)
            listener_sets = pipe.execute()[: len(replies)]
            at: dict[str, list[dict[str, Any]]] = defaultdict(list)
            for reply, members in zip(replies, listener_sets, strict=True):
                for listener in {member.decode() for member in members} - {address}:
                    at[listener].append(reply)
            for listener, some_replies in at.items():
                _push(pipe, listener, some_replies)
            if at:
                pipe.execute()
    except RedisError:
        log.warning("replies for %d requests not sent: Redis is unavailable", len(verdicts))


def _push(pipe: Pipeline, address: str, replies: Sequence[Mapping[str, Any]]) -> None:
    pipe.rpush(address, orjson.dumps(replies))
    pipe.expire(address, LIST_TTL_SECONDS)
