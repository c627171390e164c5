"""In-process caches, bounded in size, with a lifetime for each entry.

A full cache evicts the entry with the oldest `put`. Reads take no lock: a thread that the interpreter pauses inside a
lock would block all other threads on the hot path.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cachetools import FIFOCache

K = TypeVar("K")
V = TypeVar("V")
Clock = Callable[[], float]


def infinite_lifetime() -> float:
    """Return the lifetime of values that never become wrong."""
    return math.inf


@dataclass(frozen=True, slots=True)
class CacheEntry(Generic[V]):
    """A value, the time when it expires, and the epoch under which it was read."""

    value: V
    until: float
    epoch: str = ""


class _Store(FIFOCache[Any, Any]):
    def __missing__(self, key: object) -> None:
        # So `cache[key]` is one look-up. `get` makes two, and another thread may remove the entry between them.
        return None


class _Entries(Generic[K, V]):
    """At most `most` entries. `seconds` returns the lifetime and is called at each `put`, so it may read a setting."""

    def __init__(
        self, most: int, *, seconds: Callable[[], float] = infinite_lifetime, clock: Clock = time.monotonic
    ) -> None:
        self._entries = _Store(most)
        self._lock = threading.Lock()
        self._seconds = seconds
        self._clock = clock

    def find(self, key: K) -> CacheEntry[V] | None:
        """Return the entry, even when it has expired; None if there is none."""
        entry: CacheEntry[V] | None = self._entries[key]
        return entry

    def drop(self, key: K) -> None:
        """Remove a key, if it is there."""
        with self._lock:
            self._entries.pop(key, None)

    def drop_all(self, where: Callable[[K], bool]) -> None:
        """Remove the keys for which `where` returns True."""
        with self._lock:
            for key in [key for key in self._entries if where(key)]:
                del self._entries[key]

    def drop_old(self) -> None:
        """Remove expired entries. For secrets, which must not stay in memory longer than they are used."""
        with self._lock:
            now = self._clock()
            for key in [key for key in self._entries if self._entries[key].until <= now]:
                del self._entries[key]

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._entries.clear()

    def __iter__(self) -> Iterator[K]:
        with self._lock:
            return iter(list(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def _put(self, key: K, entry: CacheEntry[V]) -> None:
        with self._lock:
            self._entries[key] = entry


class BoundedCache(_Entries[K, V]):
    """Cache of values by key, each with the lifetime that `seconds` returns."""

    def get(self, key: K) -> V | None:
        """Return the value, or None when there is none or it has expired."""
        entry: CacheEntry[V] | None = self._entries[key]
        return entry.value if entry is not None and self._clock() < entry.until else None

    def put(self, key: K, value: V) -> None:
        """Store a value and start its lifetime."""
        self._put(key, CacheEntry(value, self._clock() + self._seconds()))


class AccountCache(_Entries[K, V]):
    """Cache of values read for an account, valid until the account's epoch changes or their lifetime ends.

    An epoch of None means that Redis did not answer: then nothing is stored or returned.
    """

    def get(self, key: K, epoch: str | None) -> V | None:
        """Return the value that was read under this epoch, or None when there is none or it has expired."""
        entry: CacheEntry[V] | None = self._entries[key]
        if entry is not None and entry.epoch == epoch and self._clock() < entry.until:
            return entry.value
        return None

    def holds(self, entry: CacheEntry[V], epoch: str | None) -> bool:
        """Return whether an entry returned by `find` is valid under this epoch."""
        return entry.epoch == epoch and self._clock() < entry.until

    def put(self, key: K, value: V, epoch: str | None, *, until: float | None = None) -> None:
        """Store a value that was read under the epoch. `until`: the expiry of an older value that it was made from."""
        if epoch is not None:
            self._put(key, CacheEntry(value, self.end() if until is None else until, epoch))

    def end(self) -> float:
        """Return the time when a value that is read now expires."""
        return self._clock() + self._seconds()
