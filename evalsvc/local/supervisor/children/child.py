"""One supervised process: what to run, and what has become of it."""

import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from evalsvc.local.process import Command, kill_tree, spawn, tail
from evalsvc.local.supervisor.children.forked import Fork, ForkedProcess, fork

MAX_LOG_BYTES = 20 * 1024 * 1024
KEPT_LOGS = 3
LONGEST_DELAY_SECONDS = 10.0
MAX_REPORTS = 3
"""Crashes within a minute that are reported, of a child that is started again without end."""


@dataclass(frozen=True)
class ChildSpec:
    """What to run. `command` is called before each start, so it can first clean up after a crash."""

    name: str
    command: Callable[[], Command | Fork]
    is_ready: Callable[[], bool] = lambda: True
    # Children of the highest stage stop first, those of one stage together.
    stage: int = 0
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout: float = 20
    # Within a minute; the next one stops the whole service. None: it is started again without end.
    max_crashes: int | None = 5
    # Called after a crash. A reason outside the child, such as a full disk, lets it be started again without end.
    explain_crash: Callable[[], str] = lambda: ""
    # Exit code by which the child reports that a restart would fail in the same way.
    gives_up_with: int | None = None


@dataclass
class Child:
    spec: ChildSpec
    log: Path
    process: subprocess.Popen[bytes] | ForkedProcess | None = None
    restart_at: float | None = None
    crashes: deque[float] = field(default_factory=deque)
    reason: str = ""  # of the last crash, if it is known

    def start(self) -> None:
        rotate(self.log)
        self.restart_at = None
        work = self.spec.command()
        self.process = fork(work, self.log) if isinstance(work, Fork) else spawn(work, self.log)

    def exit_code(self) -> int | None:
        """None while it runs, or while it waits for its next start."""
        return self.process.poll() if self.process else None

    def record_crash(self) -> float | None:
        """Plan the next start and return the delay; None when it crashed too often."""
        now = time.monotonic()
        self.process = None
        reason = self.spec.explain_crash()
        if self.reason and not reason:
            self.crashes.clear()  # those had a reason that has passed
        self.reason = reason
        self.crashes.append(now)
        while self.crashes[0] < now - 60:
            self.crashes.popleft()
        if not self.restarts_without_end and len(self.crashes) > (self.spec.max_crashes or 0):
            return None
        delay = min(LONGEST_DELAY_SECONDS, float(0.1 * 3 ** (len(self.crashes) - 1)))
        self.restart_at = now + delay
        return delay

    @property
    def restarts_without_end(self) -> bool:
        return self.spec.max_crashes is None or bool(self.reason)

    def ask_to_stop(self) -> None:
        self.restart_at = None
        if self.process and self.process.poll() is None:
            self.process.send_signal(self.spec.stop_signal)

    def kill(self) -> None:
        if self.process:
            kill_tree(self.process)

    def last_lines(self) -> str:
        return tail(self.log)


def rotate(log: Path) -> None:
    """Move a log that has grown large to ``.1``, that one to ``.2`` and so on."""
    if not log.exists() or log.stat().st_size < MAX_LOG_BYTES:
        return
    names = [log, *(log.with_name(f"{log.name}.{number}") for number in range(1, KEPT_LOGS + 1))]
    for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
        if newer.exists():
            newer.replace(older)


def describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    return f"signal {-code} ({signal.Signals(-code).name})"


def kill_group(pid: int) -> None:
    """SIGKILL what is left of a dead child's process group."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
