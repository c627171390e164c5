"""Shared state of one worker's processes: which of them are busy with slow work.

It lets one process stay free for other accounts. The memory is allocated before the pool forks and is not locked: a
killed process blocks no other, and concurrent writes cause at most a momentary error.
"""

from __future__ import annotations

import os
import time
from ctypes import c_double, c_long
from multiprocessing.sharedctypes import RawArray

MOST_PROCESSES = 256
SLOW_SECONDS = 1.0
"""What has been computed for so long may take ten times that."""
IDLE = 0.0
FORGOTTEN_SECONDS = 180.0
"""Longer than any process may compute (`COMPUTE_LIMIT_SECONDS`): the number is another program's by now."""


class Neighbours:
    """The processes of one worker that have looked for work."""

    def __init__(self) -> None:
        self._pids = RawArray(c_long, MOST_PROCESSES)
        # When what each computes was begun, by the clock that all processes of a host share.
        self._since = RawArray(c_double, MOST_PROCESSES)
        self._is_long = RawArray(c_long, MOST_PROCESSES)
        self._accounts = RawArray(c_long, MOST_PROCESSES)

    def join(self) -> None:
        """Be one of them from now on."""
        self._acquire_slot()

    def begin(self, account_id: int, *, is_long: bool) -> None:
        """Return what this process is about to compute: a long text is slow at once, another only after a while."""
        slot = self._acquire_slot()
        self._accounts[slot] = account_id
        self._is_long[slot] = is_long
        self._since[slot] = time.monotonic()

    def end(self) -> None:
        """Mark this process as idle."""
        self._since[self._acquire_slot()] = IDLE

    def slow_accounts(self) -> set[int] | None:
        """Return for whom all others compute something slow; None where one does not, or where there are none."""
        slot = self._acquire_slot()
        others = [i for i in range(MOST_PROCESSES) if i != slot and self._pids[i] and self._lives(i)]
        if not others or not all(self._is_slow(i) for i in others):
            return None
        return {self._accounts[i] for i in others}

    def _is_slow(self, i: int) -> bool:
        since = self._since[i]
        return since != IDLE and (bool(self._is_long[i]) or time.monotonic() - since > SLOW_SECONDS)

    def _acquire_slot(self) -> int:
        pid, free = os.getpid(), None
        for i in range(MOST_PROCESSES):
            if self._pids[i] == pid:
                return i
            if free is None and (not self._pids[i] or not self._lives(i)):
                free = i
        if free is None:
            raise RuntimeError(f"A worker has at most {MOST_PROCESSES} processes for the cpu lane.")
        self._since[free], self._pids[free] = IDLE, pid
        return free

    def _lives(self, i: int) -> bool:
        if self._since[i] != IDLE and time.monotonic() - self._since[i] > FORGOTTEN_SECONDS:
            return False
        try:
            os.kill(self._pids[i], 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


neighbours = Neighbours()
"""Those of this process' worker."""
