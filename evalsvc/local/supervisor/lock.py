"""One running service per home."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path


class AlreadyRunning(Exception):
    def __init__(self, pid: int | None, url: str | None) -> None:
        super().__init__(f"The service already runs{f' at {url}' if url else ''} (process {pid or 'unknown'}).")
        self.pid = pid
        self.url = url


class HomeLock:
    """The right to run the service of a home; the kernel gives it back when this process ends, however it ends."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def announce(self, url: str) -> None:
        """Store the address, for the message to anyone who tries to start a second service."""
        text = json.dumps({"pid": os.getpid(), "url": url}).encode()
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, text, 0)


@contextlib.contextmanager
def hold_home(home: Path) -> Iterator[HomeLock]:
    """Lock the home for the duration of the block; raise AlreadyRunning if another process has the lock."""
    with _open_lock(home / "run" / "lock") as handle:
        if not _acquire(handle):
            raise _already_running(os.pread(handle, 4096, 0))
        lock = HomeLock(handle)
        lock.announce("")
        yield lock


@contextlib.contextmanager
def hold_demo_env(folder: Path) -> Iterator[bool]:
    """Own `demo.env` of a folder for the duration of the block; yield False if a running service owns it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with _open_lock(folder / "demo.lock") as handle:
        yield _acquire(handle)


@contextlib.contextmanager
def _open_lock(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def _acquire(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _already_running(text: bytes) -> AlreadyRunning:
    try:
        holder = json.loads(text)
    except ValueError:
        holder = {}
    return AlreadyRunning(holder.get("pid"), holder.get("url"))
