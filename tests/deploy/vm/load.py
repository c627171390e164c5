"""Callers who go on while a machine is changed, and count what they are told."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.deploy.vm.machine import Machine, ask, body_of

EVALUATORS = ("exact-match", "exact-match", "exact-match", "toxicity")
"""One of each caller's: most are answered by the web process, the last by a worker."""


@dataclass
class Load:
    """What came of it."""

    ends: Counter[str] = field(default_factory=Counter)
    """How many calls ended with which status, or with which error."""
    slowest: float = 0.0

    @property
    def failed(self) -> dict[str, int]:
        """Return the calls that were not answered; what waits for workers may be answered `pending`."""
        return {end: n for end, n in self.ends.items() if end not in ("200", "202")}

    def note(self, end: str, seconds: float) -> None:
        self.ends[end] += 1
        self.slowest = max(self.slowest, seconds)


@contextlib.contextmanager
def load_on(machine: Machine) -> Iterator[Load]:
    """Keep callers calling, each on a connection that it keeps."""
    load, over = Load(), threading.Event()
    threads = [threading.Thread(target=_call, args=(machine, evaluator, load, over)) for evaluator in EVALUATORS]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _call(machine: Machine, evaluator: str, load: Load, over: threading.Event) -> None:
    connection = machine.connect(timeout=120)
    while not over.is_set():
        began = time.monotonic()
        try:
            status, _ = ask(connection, body_of(evaluator, f"Canberra {began}"), machine.key)
            load.note(str(status), time.monotonic() - began)
        except (OSError, http.client.HTTPException, ValueError) as error:
            load.note(type(error).__name__, time.monotonic() - began)
            connection.close()
        if connection.sock is None:  # the server has said `Connection: close`, which is no failure
            connection = machine.connect(timeout=120)
        time.sleep(0.02)
    connection.close()
