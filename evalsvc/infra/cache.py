"""What a process remembers of what it has read: bounded, and no longer than it may be believed.

One rule for what goes where there is no room: what was put in longest ago, be it for the first time or again. Reading
takes no lock, as a thread that the interpreter puts aside while it holds one would stop all others on the hot path.
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


def for_ever() -> float:
    """Return how long something is believed that nothing makes untrue."""
    return math.inf


@dataclass(frozen=True, slots=True)
class CacheEntry(Generic[V]):
    """A value, the epoch under which it was read, and until when it is believed."""

    value: V
    until: float
    epoch: str = ""


class _Store(FIFOCache[Any, Any]):
    def __missing__(self, key: object) -> None:
        # Not `get`, which looks twice: between its looks another thread may put the entry out.
        return None


class _Entries(Generic[K, V]):
    """At most `most` entries. `seconds` is asked at each `put`, so that it may be a setting."""

    def __init__(self, most: int, *, seconds: Callable[[], float] = for_ever, clock: Clock = time.monotonic) -> None:
        self._entries = _Store(most)
        self._lock = threading.Lock()
        self._seconds = seconds
        self._clock = clock

    def find(self, key: K) -> CacheEntry[V] | None:
        """Return what is there, however old."""
        entry: CacheEntry[V] | None = self._entries[key]
        return entry

    def drop(self, key: K) -> None:
        """Forget a key, if it is there."""
        with self._lock:
            self._entries.pop(key, None)

    def drop_all(self, where: Callable[[K], bool]) -> None:
        """Forget the keys of which something is true."""
        with self._lock:
            for key in [key for key in self._entries if where(key)]:
                del self._entries[key]

    def drop_old(self) -> None:
        """Forget what is believed no longer, where it shall not even lie about."""
        with self._lock:
            now = self._clock()
            for key in [key for key in self._entries if self._entries[key].until <= now]:
                del self._entries[key]

    def clear(self) -> None:
        """Forget everything."""
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
    """Remembers values by key, for so many seconds."""

    def get(self, key: K) -> V | None:
        """Return what is remembered and believed."""
        entry: CacheEntry[V] | None = self._entries[key]
        return entry.value if entry is not None and self._clock() < entry.until else None

    def put(self, key: K, value: V) -> None:
        """Remember a value."""
        self._put(key, CacheEntry(value, self._clock() + self._seconds()))


class AccountCache(_Entries[K, V]):
    """Remembers what was read of an account under an epoch of it, until the epoch moves, or for so many seconds.

    An epoch of None says that Redis did not answer: then nothing is remembered and nothing taken.
    """

    def get(self, key: K, epoch: str | None) -> V | None:
        """Return what is remembered and was read under this epoch."""
        entry: CacheEntry[V] | None = self._entries[key]
        if entry is not None and entry.epoch == epoch and self._clock() < entry.until:
            return entry.value
        return None

    def holds(self, entry: CacheEntry[V], epoch: str | None) -> bool:
        """Say whether an entry that was found is believed under this epoch."""
        return entry.epoch == epoch and self._clock() < entry.until

    def put(self, key: K, value: V, epoch: str | None, *, until: float | None = None) -> None:
        """Remember a value, which was read under the epoch; `until` where it is made of something older."""
        if epoch is not None:
            self._put(key, CacheEntry(value, self.end() if until is None else until, epoch))

    def end(self) -> float:
        """Return until when something is believed that is read now."""
        return self._clock() + self._seconds()
