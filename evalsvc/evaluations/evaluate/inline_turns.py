"""Limit inline computation per account, so that one account leaves threads and the interpreter to others.

Most inline work takes microseconds, and a turn is free now or will be soon. Work that waits longer than
PATIENCE_SECONDS is queued behind slow work: it gets no turn, and neither does other work of its account for a moment,
so that it does not occupy threads either.
"""

from __future__ import annotations

import threading
import time

PATIENCE_SECONDS = 0.05
BUSY_SECONDS = 0.5


class InlineTurns:
    """The turns of one process."""

    def __init__(self, n_threads: int) -> None:
        self._lock = threading.Lock()
        self._left = threading.Condition(self._lock)
        self._held: dict[int, int] = {}
        self._n_held = 0
        self._n_waiting = 0
        self._busy_until: dict[int, float] = {}
        self.resize(n_threads)

    def resize(self, n_threads: int) -> None:
        """Leave some of so many threads free at all times, and at most a quarter to one account.

        More would give it nothing: threads that compute take turns at one interpreter.
        """
        self.most = max(1, n_threads - 2)
        self.most_of_one = max(1, n_threads // 4)

    def take(self, account_id: int) -> bool:
        """Take a turn for an account and return whether one was free; release it with `leave`."""
        with self._lock:
            if not self._is_free(account_id) and not self._comes_free(account_id):
                return False
            self._held[account_id] = self._held.get(account_id, 0) + 1
            self._n_held += 1
            return True

    def leave(self, account_id: int) -> None:
        """Give a turn back."""
        with self._lock:
            n_own = self._held[account_id] - 1
            if n_own:
                self._held[account_id] = n_own
            else:
                del self._held[account_id]
            self._n_held -= 1
            if self._n_waiting:
                self._left.notify_all()

    def _is_free(self, account_id: int) -> bool:
        return self._n_held < self.most and self._held.get(account_id, 0) < self.most_of_one

    def _comes_free(self, account_id: int) -> bool:
        if time.monotonic() < self._busy_until.get(account_id, 0.0):
            return False
        self._n_waiting += 1
        try:
            if self._left.wait_for(lambda: self._is_free(account_id), PATIENCE_SECONDS):
                return True
        finally:
            self._n_waiting -= 1
        now = time.monotonic()
        self._busy_until = {account: until for account, until in self._busy_until.items() if until > now}
        self._busy_until[account_id] = now + BUSY_SECONDS
        return False


turns = InlineTurns(16)
"""This process' turns; the web worker says of how many threads."""
