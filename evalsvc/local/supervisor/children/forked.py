"""A child that is forked and not executed: it has all that its parent imported, and shares the memory of it."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evalsvc.local.launch import die_with_parent

ARGUMENTS_START, ARGUMENTS_END = 47, 48  # among the fields of /proc/self/stat, from 0
PAUSE_SECONDS = 0.01


@dataclass(frozen=True)
class Fork:
    """What a forked child does; `title` is what `ps` shows of it."""

    title: str
    run: Callable[[], object]
    # What the kernel sends it when the process that forked it dies. Linux only.
    death_signal: signal.Signals = signal.SIGKILL
    # Open files of the parent that are no business of the child.
    close_fds: tuple[int, ...] = ()


class ForkedProcess:
    """What the supervisor needs to know of a child, as `subprocess.Popen` tells it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode if self.returncode is not None else self._reap(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"forked process {self.pid}", timeout or 0)
            time.sleep(PAUSE_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        # The pid is not reused until the child is reaped, which only `poll` does.
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _reap(self, options: int) -> int | None:
        try:
            pid, status = os.waitpid(self.pid, options)
        except ChildProcessError:
            pid, status = self.pid, 0
        if pid:
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def fork(work: Fork, log: Path) -> ForkedProcess:
    """Run `work` in a child with a session of its own, its output appended to `log`. Call it in the main thread."""
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    # A signal for the parent must not strike the child while it still has the parent's handlers.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            os._exit(_be_child(work, log, parent, before))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return ForkedProcess(pid)


def _be_child(work: Fork, log: Path, parent: int, mask: set[int | signal.Signals]) -> int:
    try:
        os.setsid()
        _reset_signals(mask)
        die_with_parent(parent, work.death_signal)
        _redirect(log)
        for number in work.close_fds:
            os.close(number)
        set_title(work.title)
        work.run()
        return 0
    except SystemExit as stop:
        return _exit_code(stop)
    except BaseException:  # the child's last words; its parent sees the code
        traceback.print_exc()
        return 1
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()


def _reset_signals(mask: set[int | signal.Signals]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _redirect(log: Path) -> None:
    nothing, output = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(nothing)
    os.close(output)


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=sys.stderr)
    return 1


def set_title(title: str) -> None:
    """Write the title over the arguments that `ps` shows, which are those of the parent. Linux only."""
    if not sys.platform.startswith("linux"):
        return
    # The program's name, in parentheses, can contain spaces.
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = (int(fields[number - 2]) for number in (ARGUMENTS_START, ARGUMENTS_END))
    room = end - start
    if room > 1:
        ctypes.memmove(start, os.fsencode(title)[: room - 1].ljust(room, b"\0"), room)
