"""Shared state of one worker's processes: which of them are busy with slow work.

It lets one process stay free for other accounts. The memory is allocated before the pool forks. A process chooses its
work under a lock, so that two do not both see the other idle; the kernel releases the lock of a killed process.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_double, c_long
from multiprocessing.sharedctypes import RawArray
from pathlib import Path

MOST_PROCESSES = 256
SLOW_SECONDS = 1.0
"""What has been computed for so long may take ten times that."""
IDLE = 0.0
REMEMBERED_SECONDS = 60.0
"""For so long what an account sends counts as slow from the start, after one of its evaluations was."""
MOST_REMEMBERED = 256
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
        # Of accounts, by the remainder of their ids, the last that was slow, and when. Two may replace each other.
        self._slow_accounts = RawArray(c_long, MOST_REMEMBERED)
        self._slow_at = RawArray(c_double, MOST_REMEMBERED)
        self._cpu_began = 0.0
        # Locked with lockf: flock does not tell forked processes apart.
        self._lock_file = open_anonymous_file()

    @contextmanager
    def choosing(self) -> Iterator[set[int] | None]:
        """Let no other process choose meanwhile; yield the accounts that are slow, as `slow_accounts`.

        What the block begins, the next process sees.
        """
        fcntl.lockf(self._lock_file, fcntl.LOCK_EX)
        try:
            yield self.slow_accounts()
        finally:
            fcntl.lockf(self._lock_file, fcntl.LOCK_UN)

    def join(self) -> None:
        """Be one of them from now on."""
        self._acquire_slot()

    def begin(self, account_id: int, *, is_long: bool) -> None:
        """Announce what this process is about to compute: a long text is slow at once, another only after a while.

        So is anything of an account that has been slow in the last minute.
        """
        slot = self._acquire_slot()
        self._remember_if_slow(slot)
        self._accounts[slot] = account_id
        self._is_long[slot] = is_long or self._was_slow(account_id)
        self._since[slot] = time.monotonic()
        self._cpu_began = time.process_time()

    def end(self) -> None:
        """Mark this process as idle."""
        slot = self._acquire_slot()
        self._remember_if_slow(slot)
        self._since[slot] = IDLE

    def slow_accounts(self) -> set[int] | None:
        """Return for whom all others compute something slow; None where one does not, or where there are none."""
        slot = self._acquire_slot()
        others = [i for i in range(MOST_PROCESSES) if i != slot and self._pids[i] and self._lives(i)]
        if not others or not all(self._is_slow(i) for i in others):
            return None
        return {self._accounts[i] for i in others}

    def _remember_if_slow(self, slot: int) -> None:
        # By CPU time: a busy machine makes everybody wait.
        if self._since[slot] != IDLE and time.process_time() - self._cpu_began > SLOW_SECONDS:
            account_id = self._accounts[slot]
            self._slow_accounts[account_id % MOST_REMEMBERED] = account_id
            self._slow_at[account_id % MOST_REMEMBERED] = time.monotonic()

    def _was_slow(self, account_id: int) -> bool:
        i = account_id % MOST_REMEMBERED
        is_recent = time.monotonic() - self._slow_at[i] < REMEMBERED_SECONDS
        return self._slow_accounts[i] == account_id and self._slow_at[i] > 0.0 and is_recent

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


def open_anonymous_file() -> int:
    """Open a file without a name; in memory where the system can, since a root file system may be read-only or full."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("neighbours")
    handle, path = tempfile.mkstemp()
    Path(path).unlink()
    return handle


neighbours = Neighbours()
"""Those of this process' worker."""
