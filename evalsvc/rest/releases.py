"""Releases to retry once the database responds again: until then it is unknown whether the claim was committed."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from django.db import InterfaceError, OperationalError, connections
from psycopg_pool import PoolTimeout

log = logging.getLogger(__name__)
DATABASE_AWAY = (OperationalError, InterfaceError, PoolTimeout)
PAUSE_SECONDS = 0.2
MOST_WAITING = 10_000
"""Beyond so many the oldest are dropped: their leases end by themselves."""


class Releases:
    """Work of this process that is tried again and again until it succeeds, or its time is up."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, Callable[[], None]]] = deque(maxlen=MOST_WAITING)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def later(self, release: Callable[[], None], *, seconds: float) -> None:
        """Do this in the background, as soon as the database answers. After so many seconds it has become needless."""
        with self._changed:
            self._waiting.append((time.monotonic() + seconds, release))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="releases", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
            self._try_all()
            # A connection that waits here would be one that a request lacks.
            connections.close_all()
            time.sleep(PAUSE_SECONDS)

    def _try_all(self) -> None:
        while self._waiting:
            until, release = self._waiting.popleft()
            try:
                release()
            except DATABASE_AWAY:
                if time.monotonic() < until:
                    self._waiting.appendleft((until, release))
                return
            except Exception:
                log.exception("release failed")


releases = Releases()
"""This process' own; the thread starts with the first of them, after the fork."""
