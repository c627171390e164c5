"""Writes the outcomes of one scheduler's unit runners: all that wait are written in one transaction.

A runner submits its outcome and sends the next query; a future gives the scheduler the result. An outcome that arrives
while nothing is being written is written without delay. See docs/adr/0039-outcomes-in-groups.md.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeAlias, TypeVar

from django.db import Error, connections

from evalsvc.experiments.runner import store
from evalsvc.experiments.runner.store import Outcome, RecordResult
from evalsvc.tenancy.outages import is_refusal

log = logging.getLogger(__name__)
MOST, MOST_ROWS = 32, 1000
"""Outcomes in one transaction, and the outputs and scores that they may hold: larger ones would hold up the others."""
TRIES, FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 8, 0.1, 3.0
T = TypeVar("T")
Waiting: TypeAlias = tuple[Outcome, "Future[RecordResult]"]


class Writer:
    """One thread that records outcomes. A context: at its end all that waited has been written."""

    def __init__(self, *, lease_seconds: float) -> None:
        self.lease_seconds = lease_seconds
        self._changed = threading.Condition()
        self._waiting: deque[Waiting] = deque()
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="writer")

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify()
        self._thread.join()

    def submit(self, outcome: Outcome) -> Future[RecordResult]:
        """Have an outcome recorded soon; the future gives the record, or the error after which it was given up."""
        future: Future[RecordResult] = Future()
        with self._changed:
            self._waiting.append((outcome, future))
            self._changed.notify()
        return future

    def _run(self) -> None:
        try:
            while group := self._next_group():
                self._write(group)
        finally:
            connections.close_all()

    def _next_group(self) -> list[Waiting]:
        """Wait for outcomes and take those that wait; none when it is over."""
        with self._changed:
            if not self._waiting and not self._is_over:
                # Others may need the connection more than who waits for work.
                connections.close_all()
            while not self._waiting and not self._is_over:
                self._changed.wait()
            group: list[Waiting] = []
            n_rows = 0
            while self._waiting and len(group) < MOST and (not group or n_rows < MOST_ROWS):
                group.append(self._waiting.popleft())
                n_rows += _n_rows(group[-1][0])
            return group

    def _write(self, group: Sequence[Waiting]) -> None:
        """Record a group together, and what that has left out one by one; a failure is of one outcome."""
        try:
            recorded = self._together([outcome for outcome, _ in group])
        except Exception as exc:
            for _, future in group:
                future.set_exception(exc)
            return
        remaining = []
        for (outcome, future), result in zip(group, recorded, strict=True):
            if result is not None:
                future.set_result(result)
            else:
                remaining.append((outcome, future))
        for outcome, future in remaining:
            self._write_alone(outcome, future)

    def _together(self, outcomes: Sequence[Outcome]) -> Sequence[RecordResult | None]:
        nothing = [None] * len(outcomes)
        if len(outcomes) == 1:
            return nothing
        try:
            return persistently(lambda: store.record_units(outcomes, lease_seconds=self.lease_seconds))
        except (Error, TypeError, ValueError) as exc:
            if isinstance(exc, Error) and not is_refusal(exc):
                raise
            # Without the message: it may quote an output.
            log.warning("%d outcomes refused as a group, retrying each alone: %s", len(outcomes), type(exc).__name__)
            return nothing

    def _write_alone(self, outcome: Outcome, future: Future[RecordResult]) -> None:
        unit = outcome.unit
        try:
            future.set_result(
                persistently(
                    lambda: store.record_unit(
                        account_id=unit.account_id,
                        unit_id=unit.id,
                        token=unit.token,
                        outputs=outcome.outputs,
                        scores=outcome.scores,
                        close=outcome.close,
                        lease_seconds=self.lease_seconds,
                    )
                )
            )
        except Exception as exc:
            future.set_exception(exc)


def persistently(write: Callable[[], T]) -> T:
    """Write, and again when the database was away: these answers have been paid for. Twice is as once."""
    n_failed = 0
    while True:
        try:
            return write()
        except Error as exc:
            connections.close_all()
            n_failed += 1
            if n_failed == TRIES or is_refusal(exc):
                raise
            log.warning("outputs not written: database error; retrying")
            time.sleep(min(FIRST_PAUSE_SECONDS * 2 ** (n_failed - 1), LONGEST_PAUSE_SECONDS))


def _n_rows(outcome: Outcome) -> int:
    return len(outcome.outputs) + len(outcome.scores)
