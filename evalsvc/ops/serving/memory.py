"""Return memory to the system after large answers: glibc keeps what threads have freed, in an arena for each few."""

from __future__ import annotations

import ctypes
import gc
import resource
import time

TRIM_SECONDS = 5.0
"""Between two looks. One takes milliseconds."""
WORTH_BYTES = 16 * 2**20
_libc = ctypes.CDLL(None)
_trim = getattr(_libc, "malloc_trim", None)
"""Of glibc, as `mallopt`; elsewhere there is none."""
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
LARGE_BYTES = 2**20
MOST_ARENAS = 4


def tune_allocator() -> None:
    """Have large blocks go back to the system when they are freed, and few arenas.

    Left alone, glibc takes blocks of up to 32 MiB from the arena of a thread, after the first was freed. Threads that
    share an interpreter hardly ever allocate at the same time.
    """
    if _trim is not None:
        _libc.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        _libc.mallopt(M_ARENA_MAX, MOST_ARENAS)


class MemoryKeeper:
    """What one process holds, and held when it was last trimmed."""

    def __init__(self) -> None:
        self._looked_at = 0.0
        self._after_trim = 0

    def look(self) -> None:
        """Trim if the process has grown since the last time; called again and again."""
        now = time.monotonic()
        if _trim is None or now - self._looked_at < TRIM_SECONDS:
            return
        self._looked_at = now
        if resident_bytes() > self._after_trim + WORTH_BYTES:
            # An answer and its request refer to each other, and an idle process has no other collection.
            gc.collect()
            _trim(0)
            self._after_trim = resident_bytes()


def resident_bytes() -> int:
    """Return what this process holds in memory; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


keeper = MemoryKeeper()
"""Of this process."""
