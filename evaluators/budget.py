"""CPU budget of one evaluation: an allowance that its steps check, and the source of the error message.

Time is the thread's CPU time: on a busy machine, or during a call to another server, a text does not become too long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from evaluators.apart import run_apart
from evaluators.base import CannotScore

T = TypeVar("T")
DEFAULT_SECONDS = 10.0
UNITS_PER_SECOND = 200_000_000
"""Bytes of text times instructions of a pattern that RE2 gets through in a second at the worst (5 ns each)."""


class OverBudget(CannotScore):
    """The evaluation computes for longer than it may: it would the next time, too."""

    def __init__(self, detail: str) -> None:
        super().__init__("input_too_long", f"{detail} Send less text, or make the evaluator's settings simpler.")


class Allowance:
    """The seconds that one piece of work may compute for, from now on in this thread."""

    __slots__ = ("_ends_at", "is_exceeded", "may_fork", "seconds")

    def __init__(self, seconds: float, *, may_fork: bool = False) -> None:
        self.seconds = seconds
        self.may_fork = may_fork
        self.is_exceeded = False
        self._ends_at = time.thread_time() + seconds

    def exceed(self, detail: str) -> OverBudget:
        """Record that the budget is exceeded, and return the exception for it."""
        self.is_exceeded = True
        return OverBudget(detail)

    def check(self) -> None:
        """Raise OverBudget when the time is up."""
        if time.thread_time() > self._ends_at:
            raise self.exceed(f"The evaluation was ended after {self.seconds:g} s of computing.")

    def bounded(self, work: Callable[[], T], n_units: int) -> T:
        """Make one call that nothing can interrupt, unless it may take longer than all there is.

        Most that may do not: where forking is allowed, they are tried in a process that ends with the time.
        """
        self.check()
        if n_units <= self.seconds * UNITS_PER_SECOND:
            return work()
        if not self.may_fork:
            raise self.exceed("The pattern is too large for a text of this length.")
        result, used = run_apart(work, self._ends_at - time.thread_time())
        self._ends_at -= used
        if result is None:
            self._ends_at = 0.0
            raise self.exceed("The pattern takes too long for this text.")
        return result


_allowance: ContextVar[Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def allowed(seconds: float, *, may_fork: bool = False) -> Iterator[Allowance]:
    """Let the work inside compute for so long; inside another allowance that one goes on.

    `may_fork` is for processes of one thread.
    """
    if (outer := _allowance.get()) is not None:
        yield outer
        return
    allowance = Allowance(seconds, may_fork=may_fork)
    token = _allowance.set(allowance)
    try:
        yield allowance
    finally:
        _allowance.reset(token)


def check() -> None:
    """Look whether there is time left, between two steps of a score. Without an allowance there always is."""
    if (allowance := _allowance.get()) is not None:
        allowance.check()


def bounded(work: Callable[[], T], n_units: int) -> T:
    """Make a call that nothing can interrupt within the allowance, or within DEFAULT_SECONDS where there is none.

    Raises OverBudget. What it returns is made of what JSON has, and never None.
    """
    return (_allowance.get() or Allowance(DEFAULT_SECONDS)).bounded(work, n_units)
