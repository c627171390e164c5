"""Group commit: the first caller leads and submits the items of all waiting callers in one call.

It uses neither a dedicated thread nor a delay. A caller that finds no leader becomes the leader and immediately submits
whatever is waiting; callers that arrive during the call wait for the next one, led by the first of them. A call
therefore takes more items the more callers there are, and a single caller pays two uncontended locks.
"""

from __future__ import annotations

import copy
import os
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, Protocol, TypeVar

from django.db import OperationalError

from evalsvc.rest.edge.door import aside

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Item_contra = TypeVar("Item_contra", contravariant=True)
Answer_co = TypeVar("Answer_co", covariant=True)


class GroupWork(Protocol[Item_contra, Answer_co]):
    """What is done for many callers in one call."""

    def prepare(self) -> None:
        """Acquire what a call needs, before its items are known."""

    def step_aside(self) -> None:
        """Give back what others may need, as this caller waits for one of them."""

    def run_batch(self, items: Sequence[Item_contra]) -> Sequence[Answer_co] | None:
        """Process all items or none, and return the answers in order; None if none was done and each can be retried.

        An exception means that the outcome is unknown: nothing is retried, and every caller receives the exception.
        """

    def run_single(self, item: Item_contra) -> Answer_co:
        """Do one item by itself."""


class CallInterrupted(OperationalError):
    """The leader of a shared call was interrupted, so it is unknown whether the work was done."""


class Order(Enum):
    """What a waiting caller has to do itself."""

    LEAD = "lead the next call"
    ALONE = "do it by yourself"


@dataclass(frozen=True, slots=True)
class Success(Generic[Answer]):
    """The successful outcome of a caller's item."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed call, with the exception that the leader caught."""

    cause: BaseException

    def copy_exception(self) -> Exception:
        """Return the error for another thread: of the same kind, with a traceback of its own."""
        if not isinstance(self.cause, Exception):
            return CallInterrupted("The call that this was part of was interrupted.")
        again = copy.copy(self.cause)
        again.__cause__ = self.cause
        return again


def _locked() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@dataclass(slots=True, eq=False)
class _Caller(Generic[Item, Answer]):
    """A caller with an item. `turn` is locked until the caller has an outcome; this is cheaper than an Event."""

    item: Item
    told: Success[Answer] | Failure | Order | None = None
    turn: threading.Lock = field(default_factory=_locked)

    def resolve(self, what: Success[Answer] | Failure | Order) -> None:
        self.told = what
        self.turn.release()


class Group(Generic[Item, Answer]):
    """The callers of one process that need the same kind of work."""

    def __init__(self, work: GroupWork[Item, Answer], *, most: int) -> None:
        """Do at most `most` items in a call."""
        self._work = work
        self._most = most
        self._forget()
        # A child of this process has none of the threads that lead or wait.
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._is_led = False
        self._waiting: deque[_Caller[Item, Answer]] = deque()

    def submit(self, item: Item) -> Answer:
        """Do an item, with those of other callers if there are any; raise what a call of its own would have."""
        caller: _Caller[Item, Answer] = _Caller(item)
        with self._lock:
            if self._is_led:
                self._waiting.append(caller)
            else:
                self._is_led, caller.told = True, Order.LEAD
        if caller.told is None:
            self._wait(caller)
        if caller.told is Order.LEAD:
            caller.told = self._lead(caller)
        if isinstance(caller.told, Success):
            return caller.told.answer
        if isinstance(caller.told, Failure):
            raise caller.told.copy_exception()
        return self._work.run_single(item)

    def _wait(self, caller: _Caller[Item, Answer]) -> None:
        try:
            self._work.step_aside()
            with aside():
                caller.turn.acquire()
        except BaseException:
            self._withdraw(caller)
            raise

    def _withdraw(self, caller: _Caller[Item, Answer]) -> None:
        """Withdraw a caller that was interrupted while it was waiting, so that no other caller waits for it."""
        with self._lock:
            if caller in self._waiting:
                self._waiting.remove(caller)
                return
            leads = caller.told is Order.LEAD
        if leads:
            self._pass_on()

    def _lead(self, own: _Caller[Item, Answer]) -> Success[Answer] | Order:
        """Run the call for all waiting callers, set their outcomes and pass the lead on; return the leader's own."""
        others: list[_Caller[Item, Answer]] = []
        try:
            others = self._gather()
            answers = self._work.run_batch([own.item, *(other.item for other in others)])
            outcomes = self._build_outcomes(len(others) + 1, answers)
        except BaseException as exc:
            self._pass_on()
            for other in others:
                other.resolve(Failure(exc))
            raise
        self._pass_on()
        for other, what in zip(others, outcomes[1:], strict=True):
            other.resolve(what)
        return outcomes[0]

    @staticmethod
    def _build_outcomes(n: int, answers: Sequence[Answer] | None) -> list[Success[Answer] | Order]:
        if answers is None:
            return [Order.ALONE] * n
        if len(answers) != n:
            raise ValueError(f"{n} items have {len(answers)} answers")
        return [Success(answer) for answer in answers]

    def _gather(self) -> list[_Caller[Item, Answer]]:
        """Get ready, then take those who wait by now. If that fails they all get the error: they waited for it too."""
        try:
            self._work.prepare()
        except BaseException as exc:
            for other in self._take(len(self._waiting)):
                other.resolve(Failure(exc))
            raise
        return self._take(self._most - 1)

    def _take(self, most: int) -> list[_Caller[Item, Answer]]:
        with self._lock:
            return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    def _pass_on(self) -> None:
        """Let the one who has waited longest lead, if anybody waits."""
        with self._lock:
            self._is_led = bool(self._waiting)
            if self._is_led:
                # Set under the lock, so that a caller that withdraws knows whether it leads.
                self._waiting.popleft().resolve(Order.LEAD)
