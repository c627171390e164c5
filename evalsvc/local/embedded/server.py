"""What the embedded PostgreSQL and Valkey have in common."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path

from evalsvc.local.process import Command, kill_tree, spawn, stop_tree, tail

# The kernel's sockaddr_un has 108 bytes on Linux and 104 on macOS, including the terminating zero.
MAX_SOCKET_PATH = 100


class ServerFailed(Exception):
    """An embedded server cannot be started; the message gives the reason and its last log lines."""


class EmbeddedServer(ABC):
    """One server of this home: run it with `start`, or give `command` to a supervisor."""

    name: str
    socket_name: str
    stop_signal: signal.Signals
    stop_timeout = 30.0

    def __init__(self, home: Path, *, durable: bool = True, socket_dir: Path | None = None) -> None:
        self.home = home
        self.durable = durable
        self.socket_dir = socket_dir or make_socket_dir(self.socket_name)
        self.process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def prepare(self) -> None:
        """Make what the server needs on disk and clear what a crash left behind. Safe before every start."""

    @abstractmethod
    def command(self) -> Command:
        """How to run the server in the foreground."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether the server answers now."""

    @property
    def log(self) -> Path:
        return self.home / "logs" / f"{self.name}.log"

    @property
    def socket(self) -> Path:
        return self.socket_dir / self.socket_name

    def start(self, timeout: float = 60) -> None:
        """Prepare, start and wait until the server answers."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.prepare()
        self.process = spawn(self.command(), self.log)
        self.wait_ready(timeout)

    def wait_ready(self, timeout: float = 60) -> None:
        """Return when the server answers; recovery after a crash counts as not yet."""
        deadline = time.monotonic() + timeout
        while not self.is_ready():
            if self.process is not None and self.process.poll() is not None:
                raise self._failure(f"stopped with exit code {self.process.returncode}")
            if time.monotonic() > deadline:
                raise self._failure(f"did not answer within {timeout:.0f} s")
            time.sleep(0.02)

    def _failure(self, what: str) -> ServerFailed:
        return ServerFailed(f"{self.name} {what}; the last lines of {self.log}:\n{tail(self.log)}")

    def stop(self) -> None:
        if self.process is not None:
            stop_tree(self.process, self.stop_signal, self.stop_timeout)
            self.process = None

    def kill_hard(self) -> None:
        """SIGKILL the server and all its processes, as a power cut would."""
        if self.process is not None:
            kill_tree(self.process)
            self.process = None

    def restart(self) -> None:
        """Stop if running, and start again behind the same socket."""
        self.stop()
        self.start()

    def remove_socket_dir(self) -> None:
        shutil.rmtree(self.socket_dir, ignore_errors=True)


def make_socket_dir(socket_name: str) -> Path:
    """Create a private folder with a path short enough for the socket's name."""
    for parent in (tempfile.gettempdir(), "/tmp"):  # noqa: S108  # nosec B108 - mkdtemp makes it private
        if len(os.fsencode(parent)) + len("/evalsvc-12345678/") + len(socket_name) <= MAX_SOCKET_PATH:
            return Path(tempfile.mkdtemp(prefix="evalsvc-", dir=parent))
    raise AssertionError("unreachable: /tmp is short")
