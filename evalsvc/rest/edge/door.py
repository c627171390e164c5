"""Limit the number of requests that run in this process, and schedule them fairly by account.

The threads of a process share one interpreter. If hundreds of requests ran at once, all would be slow, and all would
wait for the account that sends most. So only a few run at a time, and the next one is taken from another account if
one is waiting. A request that waits itself, for workers or for commits of others, releases its slot meanwhile. See
docs/adr/0048-turns-at-the-door.md.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MOST_AT_WORK = 4
"""Requests that take turns at the interpreter. Fewer would leave it idle while they wait for Redis and PostgreSQL."""
LONGEST_TURN_SECONDS = 0.1
"""Who works for longer waits for something that nobody knows of, a slow sender or a disk: its place is given on.

The next of its kind waits for a turn of those that take long (`slow_turns`).
"""
FEW = 2
"""At work: another one hardly disturbs them."""
LONGEST_PAUSE_SECONDS = 0.01
PRESENT_SECONDS = 1.0
MOST_SERVED = 64
NOBODY = 0
"""Whose requests have no key, as those for health: a connection that had one has turns apart from new ones."""


@dataclass(eq=False, slots=True)
class AdmittedRequest:
    """One request, from when it has come to its answer."""

    begin: Callable[[], None]
    """Has it begin, in another thread; called once, when it is its turn."""
    account_id: int | None = None
    """Whose it is; of a connection's first request nobody knows that."""
    is_over: bool = False
    at_end: Callable[[], None] | None = None
    """Called once, when the request has ended."""
    when_slow: Callable[[], None] | None = None
    """Called when it has worked for longer than a turn. With the door's lock held: it must be quick."""
    aside_seconds: float = 0.0
    aside_since: float | None = None

    def end_turn(self) -> None:
        """Call `at_end`, unless it has been called."""
        at_end, self.at_end, self.when_slow = self.at_end, None, None
        if at_end is not None:
            at_end()


class ConcurrencyLimiter:
    """The requests of one process."""

    def __init__(self, *, most: int = MOST_AT_WORK) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._left = threading.Condition(self._lock)
        self.is_watched = False
        """Whether somebody waits until few are at work."""
        # At work, with when each began or went on, in that order.
        self._at_work: OrderedDict[AdmittedRequest, float] = OrderedDict()
        # Who waits for a turn, by account, in the order of the accounts' turns.
        self._queues: OrderedDict[int | None, deque[AdmittedRequest]] = OrderedDict()
        # When each account was served last, the most recent ones only.
        self._served_at: OrderedDict[int, float] = OrderedDict()

    @property
    def n_at_work(self) -> int:
        """Return how many work, those apart who have for long."""
        with self._lock:
            self._drop_slow()
            return len(self._at_work)

    def admit(self, visit: AdmittedRequest) -> None:
        """Let it begin, now or when it is its turn."""
        with self._lock:
            self._queues.setdefault(visit.account_id, deque()).append(visit)
        self.dispatch()

    def release(self, visit: AdmittedRequest) -> None:
        """Give the visit's place to others while it waits."""
        visit.aside_since = time.monotonic()
        self._leave(visit)

    def reacquire(self, visit: AdmittedRequest) -> None:
        """Count the visit as at work again. It does not wait for a turn: it has had that."""
        now = time.monotonic()
        with self._lock:
            if visit.aside_since is not None:
                visit.aside_seconds += now - visit.aside_since
                visit.aside_since = None
            if not visit.is_over:
                self._at_work[visit] = now

    def finish(self, visit: AdmittedRequest) -> None:
        """End the visit."""
        visit.is_over = True
        if visit.account_id:
            with self._lock:
                self._served_at[visit.account_id] = time.monotonic()
                self._served_at.move_to_end(visit.account_id)
                if len(self._served_at) > MOST_SERVED:
                    self._served_at.popitem(last=False)
        self._leave(visit)

    def has_others(self, account_id: int) -> bool:
        """Return whether another account than this one has been served within the last second."""
        with self._lock:
            return self._are_others_present(account_id)

    def dispatch(self) -> None:
        """Start waiting requests while slots are free."""
        ready = []
        with self._lock:
            self._drop_slow()
            while len(self._at_work) < self._most and (visit := self._next()) is not None:
                self._at_work[visit] = time.monotonic()
                ready.append(visit)
            if self.is_watched and len(self._at_work) < FEW:
                self._left.notify_all()
        for visit in ready:
            visit.begin()

    def wait_for_capacity(self) -> None:
        """Wait until hardly anybody is at work, for a moment at most; for one thread."""
        with self._lock:
            self.is_watched = True
            self._left.wait_for(lambda: len(self._at_work) < FEW, LONGEST_PAUSE_SECONDS)
            self.is_watched = False

    def _leave(self, visit: AdmittedRequest) -> None:
        with self._lock:
            self._at_work.pop(visit, None)
        self.dispatch()

    def _next(self) -> AdmittedRequest | None:
        for account_id in self._queues:
            if self._has_place(account_id):
                return self._take_from(account_id)
        return None

    def _take_from(self, account_id: int | None) -> AdmittedRequest:
        queue = self._queues.pop(account_id)
        visit = queue.popleft()
        if queue:
            self._queues[account_id] = queue
        return visit

    def _has_place(self, account_id: int | None) -> bool:
        """Return whether another request of the account may begin.

        Where several accounts are served, each leaves half of the slots to the others, and new connections, which may
        all be of one account, take a single one.
        """
        n_own = sum(visit.account_id == account_id for visit in self._at_work)
        if n_own < (1 if account_id is None else max(1, self._most // 2)):
            return True
        return not self._are_others_present(account_id)

    def _are_others_present(self, account_id: int | None) -> bool:
        since = time.monotonic() - PRESENT_SECONDS
        n_present = sum(at > since for other, at in self._served_at.items() if other != account_id)
        return n_present > (account_id is None)

    def _drop_slow(self) -> None:
        latest = time.monotonic() - LONGEST_TURN_SECONDS
        while self._at_work and next(iter(self._at_work.values())) < latest:
            visit, _ = self._at_work.popitem(last=False)
            if visit.when_slow is not None:
                visit.when_slow()


door = ConcurrencyLimiter()
"""This process' door; the web worker lets every request in by it."""
_current = threading.local()


@contextmanager
def serve_request(visit: AdmittedRequest) -> Iterator[None]:
    """Serve a visit in this thread, until its end."""
    _current.visit = visit
    try:
        yield
    finally:
        visit.end_turn()
        _current.visit = None
        door.finish(visit)


def current_visit() -> AdmittedRequest | None:
    """Return the visit that this thread serves; None where requests do not come by the door, as in a worker."""
    return getattr(_current, "visit", None)


def set_account(account_id: int) -> None:
    """Set the account of the request that this thread serves."""
    if (visit := current_visit()) is not None:
        visit.account_id = account_id


@contextmanager
def aside() -> Iterator[None]:
    """Wait for others: meanwhile this thread's request takes no place."""
    visit = current_visit()
    if visit is None:
        yield
        return
    door.release(visit)
    try:
        yield
    finally:
        door.reacquire(visit)
