"""Drain of this process: /readyz reports it, no request waits for workers, and then the process can stop."""

from __future__ import annotations

import os
import time

from evalsvc.local.drain import MalformedDrain, drain_file, drain_seconds

LOOK_SECONDS = 0.25


class Draining:
    """The draining of one process. It is begun by a signal, or for all of a gunicorn's processes by a file."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._looked = 0.0

    def begin(self) -> None:
        """Drain from now on; for good, as the process ends with it."""
        if self._began is None:
            self._began = time.monotonic()

    def is_on(self) -> bool:
        """Return whether the process is draining; notices the drain file with a short delay."""
        if self._began is None and time.monotonic() - self._looked >= LOOK_SECONDS:
            self._looked = time.monotonic()
            if is_drain_requested():
                self.begin()
        return self._began is not None

    def is_over(self) -> bool:
        """Return whether the drain has lasted for EVALSVC_DRAIN_SECONDS."""
        return self._began is not None and time.monotonic() - self._began >= drain_seconds(os.environ)


draining = Draining()
"""Of this process."""


def is_drain_requested() -> bool:
    """Return whether the drain file exists. A file that another user left in a shared folder does not count."""
    try:
        return os.lstat(drain_file(os.environ)).st_uid in (os.geteuid(), 0)
    except (OSError, MalformedDrain):
        return False


def request_drain() -> None:
    """Leave the file. Raises OSError where it cannot be written, and MalformedDrain."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
    os.close(os.open(drain_file(os.environ), flags, 0o600))


def forget_earlier_drain() -> None:
    """Remove the drain file of an earlier run."""
    if is_drain_requested():
        drain_file(os.environ).unlink(missing_ok=True)
