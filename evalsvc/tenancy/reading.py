"""What many threads find missing at once, one of them reads."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

WAIT_SECONDS = 0.5
"""Then everyone reads for himself: whoever has the turn may be waiting for a connection that another one holds."""


class KeyLocks:
    """Locks by key, a few for all keys."""

    def __init__(self, n: int = 64) -> None:
        self._locks = [threading.Lock() for _ in range(n)]

    @contextmanager
    def turn(self, key: Hashable) -> Iterator[None]:
        """Wait for whoever reads the same; look again afterwards whether it is there."""
        lock = self._locks[hash(key) % len(self._locks)]
        is_held = lock.acquire(timeout=WAIT_SECONDS)
        try:
            yield
        finally:
            if is_held:
                lock.release()
