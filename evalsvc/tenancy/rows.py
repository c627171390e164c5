"""One thread reads what many find missing at once."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

WAIT_SECONDS = 0.5
"""Then each thread reads for itself: the one that holds the lock may wait for a connection that another holds."""


class KeyLocks:
    """Locks by key, a few for all keys."""

    def __init__(self, n: int = 64) -> None:
        self._locks = [threading.Lock() for _ in range(n)]

    @contextmanager
    def turn(self, key: Hashable) -> Iterator[None]:
        """Wait for a thread that reads the same. The caller looks again afterwards whether it is there."""
        lock = self._locks[hash(key) % len(self._locks)]
        is_held = lock.acquire(timeout=WAIT_SECONDS)
        try:
            yield
        finally:
            if is_held:
                lock.release()
