"""The runner: one process with hundreds of judged evaluations in flight, over a few database connections.

Calls wait in one event loop. Four other threads listen for work, claim it, extend the leases of everything in flight,
and write the verdicts that arrived while the previous batch was being written.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from django.conf import settings
from django.db import DatabaseError, connections
from redis.exceptions import RedisError

from evalsvc.evaluations.verdicts import Verdict
from evalsvc.evaluations.workers.judging import store, wakeups
from evalsvc.evaluations.workers.judging.recorder import Done, record
from evalsvc.evaluations.workers.judging.scorer import Work, judge_evaluation, prepare_work
from evalsvc.evaluations.workers.judging.shares import ClaimPlan, plan_claim
from evalsvc.evaluations.workers.judging.store import ClaimedEvaluation, ClaimedInputs
from evalsvc.evaluations.workers.pushes import PushListener

log = logging.getLogger(__name__)
POLL_SECONDS = 1.0
"""Without a push: what was put off, what a killed runner had, what Redis has lost."""
PAUSE_SECONDS = 0.02
"""Between two claims, and between two writes: what comes meanwhile goes together, as it does when there is much."""
PAUSES_A_CLAIM, LONGEST_PAUSE_SECONDS = 4, 0.05
"""Between two claims at least so many times what the last one took: where they are slow, as thousands wait or the
database is busy, more goes with each."""
AGAIN_SECONDS = 0.5
MOST_AT_ONCE = 64
"""Verdicts in one transaction."""
CANCEL_SECONDS = 5.0
T = TypeVar("T")


class JudgeRunner:
    """Claims, calls, leases and verdicts of one process. Started once, drained once."""

    def __init__(self, *, slots: int) -> None:
        self.slots = slots
        lock = threading.Lock()
        # One lock, and a condition for each who waits: hundreds of verdicts a second should wake the writer alone.
        self._more, self._looked, self._outcome, self._idle = (threading.Condition(lock) for _ in range(4))
        self._closed = threading.Event()
        self._held: dict[int, ClaimedEvaluation] = {}
        self._ended: list[Done] = []
        self._writing: list[Done] = []
        self._may_be_more = True
        self._is_draining = False
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._loop = asyncio.new_event_loop()
        works = (self._serve, self._hear, self._claim, self._keep, self._write)
        self._threads = [
            threading.Thread(target=self._go_on, args=(work,), name=f"judging{work.__name__}", daemon=True)
            for work in works
        ]

    def start(self) -> None:
        """Begin to work, in threads."""
        for thread in self._threads:
            thread.start()

    def drain(self, seconds: float) -> None:
        """Claim no more, let what is in flight end for so long, and give the rest back to other runners."""
        with self._more:
            self._is_draining = True
            self._more.notify_all()
            self._looked.notify_all()
        if not self._is_idle_within(seconds):
            self._loop.call_soon_threadsafe(self._cancel)
            self._is_idle_within(CANCEL_SECONDS / 5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        with self._outcome:
            self._closed.set()
            self._outcome.notify_all()
            has_verdict = {claimed.id for claimed, _ in [*self._ended, *self._writing]}
            unfinished = [evaluation for id, evaluation in self._held.items() if id not in has_verdict]
        if unfinished:
            log.warning("%d unfinished evaluations are left to other runners", len(unfinished))
            self._attempt("giving back", lambda: store.give_back(unfinished))
            wakeups.nudge_judging()
        connections.close_all()
        for thread in self._threads:
            thread.join(CANCEL_SECONDS)

    @property
    def n_held(self) -> int:
        """Return how many evaluations are in flight, or wait to be written."""
        with self._idle:
            return len(self._held)

    def _is_idle_within(self, seconds: float) -> bool:
        with self._idle:
            return self._idle.wait_for(lambda: not self._held, seconds)

    def _go_on(self, work: Callable[[], None]) -> None:
        """Do one thread's work until it ends by itself: a fault of ours must not stop the lane."""
        while True:
            try:
                work()
            except Exception:
                log.exception("%s crashed; restarting it", work.__name__)
                if not self._closed.wait(AGAIN_SECONDS):
                    continue
            finally:
                connections.close_all()
            return

    def _attempt(self, what: str, call: Callable[[], T]) -> T | None:
        """Call; None where the database is away, after a pause."""
        try:
            return call()
        except DatabaseError:
            log.warning("%s failed", what, exc_info=True)
            connections.close_all()
            self._closed.wait(AGAIN_SECONDS)
            return None

    # --- Claiming ----------------------------------------------------------------------------------------------------

    def _hear(self) -> None:
        ear = PushListener(wakeups.KEY, POLL_SECONDS)
        while not self._is_draining:
            try:
                has_push = ear.wait_for_push()
            except RedisError:
                has_push = False
                self._closed.wait(POLL_SECONDS)
            if self._is_draining and has_push:
                wakeups.nudge_judging()
            with self._more:
                self._may_be_more = True
                self._more.notify()
                # Until the claiming thread has looked, further pushes carry no new information.
                self._looked.wait_for(lambda: not self._may_be_more or self._is_draining, POLL_SECONDS)

    def _claim(self) -> None:
        while True:
            with self._more:
                self._more.wait_for(lambda: self._may_be_more or self._is_draining)
                if self._is_draining:
                    return
                self._may_be_more = False
                self._looked.notify()
                claim_plan = plan_claim(self._held.values(), slots=self.slots)
            took = self._claim_some(claim_plan) if claim_plan is not None else 0.0
            time.sleep(min(LONGEST_PAUSE_SECONDS, max(PAUSE_SECONDS, took * PAUSES_A_CLAIM)))

    def _claim_some(self, wanted: ClaimPlan) -> float:
        """Claim, read and begin; return how many seconds the claim took."""

        def claim() -> list[ClaimedEvaluation]:
            return store.claim_judging(limit=wanted.limit, slots=self.slots, lends=wanted.lends, held=wanted.held)

        began = time.monotonic()
        claimed = self._attempt("claiming", claim)
        took = time.monotonic() - began
        if claimed:
            self._hold(claimed)
        return took

    def _hold(self, claimed: list[ClaimedEvaluation]) -> None:
        with self._more:
            # After a database outage, an evaluation with an expired lease can be claimed again while its call is in
            # progress.
            fresh = [evaluation for evaluation in claimed if evaluation.id not in self._held]
            self._held |= {evaluation.id: evaluation for evaluation in claimed}
            self._may_be_more = True
        if fresh:
            self._read(fresh)

    def _read(self, claimed: list[ClaimedEvaluation]) -> None:
        read = None if self._is_draining else self._attempt("reading", lambda: store.read_claimed(claimed))
        if read is None:
            self._attempt("giving back", lambda: store.give_back(claimed))
            self._forget(claimed)
            return
        self._forget([evaluation for evaluation in claimed if evaluation.id not in read])
        self._prepare([(evaluation, read[evaluation.id]) for evaluation in claimed if evaluation.id in read])

    def _prepare(self, found: list[tuple[ClaimedEvaluation, ClaimedInputs]]) -> None:
        works: list[Work] = []
        for claimed, read in found:
            work = prepare_work(claimed, read)
            if isinstance(work, Work):
                works.append(work)
            else:
                self._end(claimed, work)
        self._loop.call_soon_threadsafe(self._begin, works)

    def _forget(self, claimed: Sequence[ClaimedEvaluation]) -> None:
        """Remove evaluations from those in flight: their slots are free, and their leases expire."""
        with self._more:
            for evaluation in claimed:
                self._held.pop(evaluation.id, None)
            self._may_be_more = True
            self._more.notify()
            if not self._held:
                self._idle.notify_all()

    # --- Calling: in the thread of the loop --------------------------------------------------------------------------

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._cancel()
            self._loop.run_until_complete(asyncio.gather(*self._calls.values(), return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def _begin(self, works: list[Work]) -> None:
        for work in works:
            self._calls[work.claimed.id] = self._loop.create_task(self._call(work))

    async def _call(self, work: Work) -> None:
        try:
            self._end(work.claimed, await judge_evaluation(work))
        finally:
            self._calls.pop(work.claimed.id, None)

    def _cancel(self) -> None:
        for task in list(self._calls.values()):
            task.cancel()

    # --- Writing -----------------------------------------------------------------------------------------------------

    def _end(self, claimed: ClaimedEvaluation, verdict: Verdict) -> None:
        with self._outcome:
            self._ended.append((claimed, verdict))
            self._outcome.notify()

    def _write(self) -> None:
        while batch := self._next_batch():
            try:
                while self._attempt("writing", partial(record, batch)) is None:
                    # The calls are paid for: the verdicts and their leases are retained until the database is back.
                    if self._closed.is_set():
                        return
            finally:
                self._writing = []
                self._forget([claimed for claimed, _ in batch])
            time.sleep(PAUSE_SECONDS)

    def _next_batch(self) -> list[Done]:
        """Wait for verdicts, and take some; none when there will be no more."""
        with self._outcome:
            self._outcome.wait_for(lambda: self._ended or self._closed.is_set())
            self._writing, self._ended = self._ended[:MOST_AT_ONCE], self._ended[MOST_AT_ONCE:]
            return self._writing

    def _keep(self) -> None:
        """Extend the leases of everything in flight until it is written."""
        while not self._closed.wait(settings.WORK_LEASE_SECONDS / 4):
            with self._more:
                evaluations = list(self._held.values())
            if evaluations:
                self._attempt("keeping leases", partial(store.extend, evaluations))
