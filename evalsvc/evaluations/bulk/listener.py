"""One place among those who wait, for all samples of a batch: it takes one thread, whatever their number."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

from evalsvc.evaluations.evaluate import wait
from evalsvc.evaluations.evaluate.replies import Waiter, reply_dispatcher

LOOK_SECONDS = 2.0
REQUEST = "request_id"


class SampleListener(Waiter):
    """Hears of one request, for a batch that waits for many."""

    def __init__(self, request_id: int, batch: Waiter) -> None:
        super().__init__(batch.account_id)
        self._request_id = request_id
        self._batch = batch

    def deliver(self, verdicts: list[dict[str, Any]]) -> None:
        """Forward verdicts to the batch's waiter, each with its request id."""
        self._batch.deliver([{**verdict, REQUEST: self._request_id} for verdict in verdicts])


class BatchPlace:
    """The place of a batch, taken when the first of its samples is left to workers."""

    def __init__(self, account_id: int, seconds: float) -> None:
        self._waiter = Waiter(account_id)
        self._seconds = seconds
        self._is_asked = False
        self._is_held = False
        self._ears = ExitStack()

    def take(self) -> bool:
        """Take a place if one is free and there is time to wait; return whether the batch has one."""
        if not self._is_asked:
            self._is_asked = True
            self._is_held = wait.may_wait(self._waiter.account_id, self._seconds) and wait.room.admit(self._waiter)
            if self._is_held:
                self._ears.enter_context(wait.WAITERS.track_inprogress())
        return self._is_held and self._waiter.released is None

    def listen(self, request_id: int) -> str | None:
        """Hear of a request from now on; return where its verdicts are to be sent."""
        if not self.take():
            return None
        self._ears.enter_context(reply_dispatcher().waiting_for(request_id, SampleListener(request_id, self._waiter)))
        return reply_dispatcher().address

    def arrived(self) -> list[dict[str, Any]]:
        """Return the verdicts that have come, without waiting."""
        return self._waiter.take(0) if self._is_held else []

    def arrivals(self) -> Iterator[list[Mapping[str, Any]]]:
        """Yield verdicts as they come, and nothing now and then, until time is up or the place is needed."""
        deadline = time.monotonic() + self._seconds
        while self.take() and (remaining := deadline - time.monotonic()) > 0:
            verdicts = self._waiter.take(min(remaining, LOOK_SECONDS))
            if not verdicts and self._waiter.released is None:
                # A reply can be lost when Redis restarts; a verdict cannot.
                wait.look_for_all(self._waiter.account_id)
                verdicts = self._waiter.take(0)
            yield list(verdicts)

    def leave(self) -> None:
        """Give the place back."""
        self._ears.close()
        if self._is_held:
            wait.room.leave(self._waiter)
            self._is_held, self._is_asked = False, True
