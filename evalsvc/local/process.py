"""Start one process, and end it with everything it started."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

import psutil

LAUNCHER = Path(__file__).with_name("launch.py")

_spawner: ThreadPoolExecutor | None = None


class Process(Protocol):
    """A child, whether a program or a fork."""

    @property
    def pid(self) -> int: ...

    def kill(self) -> None: ...

    def wait(self) -> int: ...


@dataclass(frozen=True)
class Command:
    """How to run a program in the foreground; ``env`` is its whole environment."""

    argv: list[str]
    env: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    cwd: Path | None = None
    # What the kernel sends when the process that started it dies. Linux only.
    death_signal: signal.Signals = signal.SIGKILL
    # Open files that the program inherits under the same numbers.
    pass_fds: tuple[int, ...] = ()


def spawn(command: Command, log: Path) -> subprocess.Popen[bytes]:
    """Start the program in a session of its own, its output appended to `log`."""
    if threading.current_thread() is threading.main_thread():
        return _spawn(command, log)
    # "Dies with its parent" means the thread that forked: a short-lived one would take the server with it.
    global _spawner
    _spawner = _spawner or ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")
    return _spawner.submit(_spawn, command, log).result()


def _spawn(command: Command, log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return start(command, stdout=output, stderr=output)


def start(command: Command, *, stdout: IO[bytes] | int, stderr: IO[bytes] | int) -> subprocess.Popen[bytes]:
    """Start the program from this very thread: it dies with the thread."""
    launcher = [sys.executable, "-I", "-S", str(LAUNCHER)]
    terms = [str(os.getpid()), str(int(command.death_signal)), command.user or "-"]
    return subprocess.Popen(
        [*launcher, *terms, *command.argv],
        env=dict(command.env),
        cwd=command.cwd,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        pass_fds=command.pass_fds,
    )


def descendants(pid: int) -> list[psutil.Process]:
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def kill_all(processes: Iterable[psutil.Process], *, timeout: float = 10) -> None:
    """SIGKILL these processes and wait until they have ended."""
    targets = list(processes)
    for process in targets:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    deadline = time.monotonic() + timeout
    while any(map(is_alive, targets)) and time.monotonic() < deadline:
        time.sleep(0.01)


def is_alive(process: psutil.Process) -> bool:
    """Return whether the process runs. False for a zombie: its resources are free, and only its parent can reap it."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def kill_tree(process: Process) -> None:
    """SIGKILL a process first, so that it starts nothing new, then all it had started."""
    below = descendants(process.pid)
    process.kill()
    process.wait()
    kill_all(below)


def stop_tree(process: subprocess.Popen[bytes], stop_signal: signal.Signals, timeout: float) -> bool:
    """Send `stop_signal` to a process and kill it after `timeout` seconds. Return True if it stopped by itself."""
    below = descendants(process.pid)
    if process.poll() is None:
        process.send_signal(stop_signal)
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        kill_tree(process)
        return False
    finally:
        kill_all(below)
    return True


def tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log, for an error message."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - 16_384))
            text = stream.read().decode(errors="replace")
    except OSError:
        return "(no log)"
    return "\n".join(text.splitlines()[-lines:])
