"""The planner's thread of a scheduler: it weighs experiments that have moved, at a bounded share of the CPU time."""

from __future__ import annotations

import logging
import threading
import time

from django.db import connections

from evalsvc.experiments.decisions.step import step

log = logging.getLogger(__name__)
# Of this process' CPU time, and not of the clock's: where others have the processor, a weighing takes long by the clock
# and the runners need what is left all the more.
SHARE = 0.1
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 1.0
# Comparisons of all pairs of configs are only displayed; decisions do not depend on them.
COMPARE_SECONDS = 1.0
Key = tuple[int, int]


class Planning:
    """Experiments that have moved since they were weighed; each is (account, experiment)."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._moved: set[Key] = set()
        self._uncompared: set[Key] = set()
        self._compared_at: dict[Key, float] = {}
        self._has_ended = False
        self._is_over = False

    def note(self, key: Key, *, has_ended: bool = False) -> None:
        """Have an experiment weighed soon; at once when one of its configs has ended."""
        with self._changed:
            self._moved.add(key)
            if has_ended:
                self._has_ended = True
                self._changed.notify()

    def close(self) -> None:
        """End when all that has moved is weighed."""
        with self._changed:
            self._is_over = True
            self._changed.notify()

    def run(self) -> None:
        """Weigh until it is over."""
        while (keys := self._collect_keys()) is not None:
            began = time.thread_time()
            for key in keys:
                self._step(key)
            self._rest(time.thread_time() - began)

    def _collect_keys(self) -> set[Key] | None:
        """Return what has moved, or has not been compared for long; None when it is over and all is done."""
        with self._changed:
            late = {key for key in self._uncompared if self._is_over or self._is_late(key)}
            keys, self._moved, self._has_ended = self._moved | late, set(), False
            return None if self._is_over and not keys else keys

    def _is_late(self, key: Key) -> bool:
        return time.monotonic() - self._compared_at.get(key, 0.0) >= COMPARE_SECONDS

    def _step(self, key: Key) -> None:
        compares = self._is_over or self._is_late(key)
        try:
            if not step(account_id=key[0], experiment_id=key[1], compares=compares):
                self.note(key)
            elif compares:
                self._compared_at[key] = time.monotonic()
                self._uncompared.discard(key)
            else:
                self._uncompared.add(key)
        except Exception:
            # Beat takes the step again; the scheduler's other experiments must not wait for it.
            log.exception("experiment %s: planner failed", key[1])
            self._uncompared.discard(key)
        finally:
            connections.close_all()

    def _rest(self, used: float) -> None:
        """Rest until the unit runners have had their share of the processor, or have not used it for a while."""
        began, before = time.monotonic(), time.process_time()
        with self._changed:
            while True:
                self._changed.wait(SHORTEST_PAUSE_SECONDS)
                elapsed = time.monotonic() - began
                is_due = time.process_time() - before >= used * (1 - SHARE) / SHARE
                is_asked = is_due or self._has_ended or self._is_over
                if elapsed >= LONGEST_PAUSE_SECONDS or (is_asked and elapsed >= SHORTEST_PAUSE_SECONDS):
                    return
