"""How a waiting request hears from a worker: one reply list per web process, one thread that hands replies out.

A worker commits first and pushes then, so a reply is never ahead of the database; a lost reply costs one poll.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

import orjson
import redis
from redis.exceptions import RedisError

from evalsvc.rest.redis_client import make_client

log = logging.getLogger(__name__)
LIST_TTL_SECONDS = 120
BLOCK_SECONDS = 5
PAUSE_SECONDS = 0.5


class Waiter:
    """The replies to one request."""

    def __init__(self) -> None:
        self._arrived = threading.Event()
        self._lock = threading.Lock()
        self._verdicts: list[dict[str, Any]] = []

    def put(self, verdicts: list[dict[str, Any]]) -> None:
        """Hand verdicts to the waiting thread."""
        with self._lock:
            self._verdicts.extend(verdicts)
        self._arrived.set()

    def take(self, seconds: float) -> list[dict[str, Any]]:
        """Wait for verdicts, at most so long; an empty list means that none came."""
        self._arrived.wait(max(0.0, seconds))
        with self._lock:
            taken, self._verdicts = self._verdicts, []
            self._arrived.clear()
        return taken


class ReplyBox:
    """The process' reply list and its dispatcher thread, started by the first request that waits."""

    def __init__(self) -> None:
        self.address = f"evalsvc:replies:{os.getpid()}:{secrets.token_hex(8)}"
        self._waiters: dict[int, list[Waiter]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._dispatch, name="replies", daemon=True).start()

    @contextmanager
    def waiting_for(self, request_id: int) -> Iterator[Waiter]:
        """Listen for the verdicts of a request; begin before its work is enqueued."""
        waiter = Waiter()
        with self._lock:
            self._waiters.setdefault(request_id, []).append(waiter)
        try:
            yield waiter
        finally:
            with self._lock:
                self._waiters[request_id].remove(waiter)
                if not self._waiters[request_id]:
                    del self._waiters[request_id]

    def _dispatch(self) -> None:
        client = make_client(timeout=BLOCK_SECONDS + 5)
        is_down = False
        while True:
            try:
                item = client.blpop([self.address], timeout=BLOCK_SECONDS)
            except RedisError:
                # The waiting requests read the database meanwhile. One line an outage, not one an attempt.
                if not is_down:
                    log.warning("replies: Redis does not answer")
                is_down = True
                time.sleep(PAUSE_SECONDS)
                continue
            is_down = False
            if item is not None:
                self._hand_out(cast("bytes", item[1]))

    def _hand_out(self, message: bytes) -> None:
        reply = orjson.loads(message)
        with self._lock:
            waiters = list(self._waiters.get(reply["request_id"], ()))
        for waiter in waiters:
            waiter.put(reply["verdicts"])


_boxes: dict[int, ReplyBox] = {}
_boxes_lock = threading.Lock()


def reply_box() -> ReplyBox:
    """Return this process' box; a forked child makes its own."""
    with _boxes_lock:
        box = _boxes.get(os.getpid())
        if box is None:
            box = _boxes[os.getpid()] = ReplyBox()
        return box


@cache
def _sender() -> redis.Redis:
    return make_client(timeout=2.0)


def send_reply(address: str, request_id: int, verdicts: list[dict[str, Any]]) -> None:
    """Push committed verdicts to whoever waits. A failure is logged: the waiting request will find them itself."""
    try:
        with _sender().pipeline(transaction=False) as pipe:
            pipe.rpush(address, orjson.dumps({"request_id": request_id, "verdicts": verdicts}))
            pipe.expire(address, LIST_TTL_SECONDS)
            pipe.execute()
    except RedisError:
        log.warning("reply for request %s not sent: Redis does not answer", request_id)
