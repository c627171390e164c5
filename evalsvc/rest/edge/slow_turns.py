"""Limit the requests that take long: in each process one of an account at a time, and half of the turns for all.

Which ones take long is learned: a kind of request of an account does once one of that kind has worked for longer than a
turn. Time that a request waits, for workers or for its body, does not count. See docs/adr/0048-turns-at-the-door.md.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque

from django.db import connections

from evalsvc.infra.cache import BoundedCache
from evalsvc.rest.edge.door import LONGEST_TURN_SECONDS, MOST_AT_WORK, aside, current_visit, door
from evalsvc.rest.problems import Problem

MOST_AT_ONCE = MOST_AT_WORK // 2
MAX_KNOWN = 10_000
PATIENCE_SECONDS = 30.0
LONGEST_PAUSE_SECONDS = 1.0
_never = threading.Event()


class SlowTurns:
    """The turns of one process for requests that take long; accounts take them in rotation."""

    def __init__(self, *, most: int = MOST_AT_ONCE, most_waiting: int = 40, patience: float = PATIENCE_SECONDS) -> None:
        self._most, self._most_waiting, self._patience = most, most_waiting, patience
        self._lock = threading.Lock()
        self._holders: set[int] = set()
        self._queues: OrderedDict[int, deque[threading.Event]] = OrderedDict()

    def resize(self, most_waiting: int) -> None:
        """Change how many requests of an account may wait; each occupies a thread."""
        self._most_waiting = max(1, most_waiting)

    def take(self, account_id: int) -> None:
        """Wait for a turn; raise Problem `too_many_requests` if too many wait already, or none comes in time."""
        called = threading.Event()
        with self._lock:
            queue = self._queues.setdefault(account_id, deque())
            if len(queue) >= self._most_waiting:
                raise too_many_slow_requests()
            queue.append(called)
            self._dispatch()
        if not called.wait(self._patience) and not self._is_called(account_id, called):
            raise too_many_slow_requests()

    def leave(self, account_id: int) -> None:
        """Give the account's turn back."""
        with self._lock:
            self._holders.discard(account_id)
            self._dispatch()

    def _is_called(self, account_id: int, called: threading.Event) -> bool:
        with self._lock:
            if called.is_set():
                return True
            self._queues[account_id].remove(called)
            self._dispatch()
            return False

    def _dispatch(self) -> None:
        for account_id in list(self._queues):
            queue = self._queues[account_id]
            if queue and account_id not in self._holders and len(self._holders) < self._most:
                self._holders.add(account_id)
                queue.popleft().set()
                self._queues.move_to_end(account_id)
            if not queue:
                del self._queues[account_id]


turns = SlowTurns()
"""Of this process; the worker says how many may wait, by its threads."""
_seconds: BoundedCache[tuple[int, str], float] = BoundedCache(MAX_KNOWN)


def take_turn(account_id: int, kind: str) -> None:
    """Let the request of this thread wait for its turn if its kind takes long, and learn how long it takes.

    An account that shares the process with others pauses between two turns for as long as the last one took. Raises
    Problem `too_many_requests`.
    """
    visit = current_visit()
    if visit is None or visit.at_end is not None:
        return
    key, is_long = (account_id, kind), (_seconds.get((account_id, kind)) or 0.0) > LONGEST_TURN_SECONDS
    if is_long:
        _close_connections()
        with aside():
            turns.take(account_id)
            if door.has_others(account_id):
                _never.wait(min(LONGEST_PAUSE_SECONDS, _seconds.get(key) or 0.0))
    began, aside_before = time.monotonic(), visit.aside_seconds

    def end() -> None:
        _note(key, time.monotonic() - began - (visit.aside_seconds - aside_before))
        if is_long:
            turns.leave(account_id)

    visit.at_end, visit.when_slow = end, lambda: _seconds.put(key, 2 * LONGEST_TURN_SECONDS)


def leave_turn() -> None:
    """End the turn of this thread's request, which goes on with something that may take as long as its reader likes."""
    if (visit := current_visit()) is not None:
        visit.end_turn()


def _note(key: tuple[int, str], seconds: float) -> None:
    known = _seconds.get(key)
    _seconds.put(key, seconds if known is None else (known + seconds) / 2)


def _close_connections() -> None:
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


def too_many_slow_requests() -> Problem:
    """Make the 429 of an account whose requests that take long come faster than they end."""
    return Problem(
        "Too many requests of this account that take long wait in this process. Send fewer at once, or ask for less in "
        "each: a lower `limit`, and `cursor` to go on.",
        code="too_many_requests",
        headers={"Retry-After": "2"},
    )
