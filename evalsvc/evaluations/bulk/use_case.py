"""The path of a batch from its body to the rows of the answer: planned and stored in parts, awaited together."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from django.db import connection

from evalsvc.accounts.access.authentication import Caller
from evalsvc.accounts.access.rate_limiter import expect_repeats
from evalsvc.accounts.access.throttling import build_rate_limit_problem
from evalsvc.evaluations.bulk.answers import write_row
from evalsvc.evaluations.bulk.keeper import Keeper
from evalsvc.evaluations.bulk.listener import REQUEST, BatchPlace
from evalsvc.evaluations.bulk.planner import Planner
from evalsvc.evaluations.bulk.rows import BatchRow
from evalsvc.evaluations.evaluate.accept import fill_in
from evalsvc.evaluations.evaluate.retries import RETRY_WINDOW_SECONDS
from evalsvc.evaluations.evaluate.stored import read_stored_many, stamp_many_pending_answered
from evalsvc.evaluations.wire.bulk import SentBatch
from evalsvc.evaluations.wire.prefer import Prefer
from evalsvc.rest.edge.door import aside
from evalsvc.rest.idempotent_rows import RowsClaim
from evalsvc.rest.problems import Problem, as_problem
from evalsvc.tenancy.scope import account_scope

log = logging.getLogger(__name__)
ROWS_AT_ONCE, BYTES_AT_ONCE, SECONDS_AT_ONCE = 100, 4 * 1024 * 1024, 0.5
"""Of a part: what is done by then is kept, and answered where the answer is streamed."""
RENEWED_SECONDS = 10.0
MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Of an answer in one piece. One that is streamed has no limit: no more than a part of it is held."""


class EnqueueMany(Protocol):
    """How the edge tells workers of many requests by one message."""

    def __call__(self, request_ids: list[int], lane: str, *, reply_to: str | None) -> bool:
        """Notify workers of requests in a lane, with the reply address; return whether the message was accepted."""


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """A batch with the options of its HTTP request.

    `n_allowed` is how many samples the rate limit allows; `caller` is the caller that they were counted for.
    """

    sent: SentBatch
    caller: Caller
    prefer: Prefer
    is_retry: bool | None
    claim: RowsClaim | None
    n_allowed: int
    is_streamed: bool


class Batch:
    """The samples of one request on their way."""

    def __init__(self, asked: BatchRequest, enqueue: EnqueueMany) -> None:
        caller = asked.caller
        epoch, account_id = caller.admission.epoch, caller.account.pk
        self._asked, self._enqueue, self._account_id = asked, enqueue, account_id
        self._planner = Planner(account_id, epoch, asked.prefer, asked.is_retry)
        self._keeper = Keeper(account_id, epoch, asked.claim, caller.admission.expects_repeats)
        self._place = BatchPlace(account_id, asked.prefer.seconds)
        self._rows: deque[BatchRow] = deque()
        self._awaited: dict[int, list[BatchRow]] = {}
        self._at = self._n_begun = self._n_bytes = 0
        self._refusal: Problem | None = None
        self._renewed_at = time.monotonic()

    def rows(self) -> Iterator[bytes]:
        """Yield the rows of the answer in the order of the samples, each as soon as all previous rows are done.

        No database connection is occupied while a row is sent: the client can be slow.
        """
        try:
            while self._at < len(self._asked.sent.samples):
                self._take_part()
                yield from self._ready()
                # A moment for others: their turn may have come.
                with aside():
                    pass
            yield from self._await()
        finally:
            self._place.leave()
            if self._asked.claim is not None:
                self._asked.claim.leave()
            connection.close()

    def _take_part(self) -> None:
        part = self._next_part()
        self._rows.extend(part)
        try:
            has_place = any(_waits(row) for row in part) and self._place.take()
            respond_async = self._asked.prefer.respond_async
            self._keeper.keep(part, keep_always=respond_async, tells_pending=not (has_place or respond_async))
            self._read_earlier(part)
            self._tell_workers(part)
            self._receive(self._place.arrived())
        except Exception as exc:
            self._fail(part, exc)
        for row in part:
            self._n_bytes += row.weight if row.answer is None else len(row.answer.body)

    def _next_part(self) -> list[BatchRow]:
        """Plan the next samples, as many as are stored together."""
        began, weight, part = time.monotonic(), 0, list[BatchRow]()
        last = min(self._at + ROWS_AT_ONCE, len(self._asked.sent.samples))
        claim = self._asked.claim
        stored_rows = claim.load_results(range(self._at, last)) if claim and self._refusal is None else {}
        for index in range(self._at, last):
            row = BatchRow(index)
            part.append(row)
            if index in stored_rows:
                row.take_kept(stored_rows[index])
            else:
                self._begin(row)
            weight += row.weight
            if weight >= BYTES_AT_ONCE or time.monotonic() - began >= SECONDS_AT_ONCE:
                break
        self._at += len(part)
        return part

    def _begin(self, row: BatchRow) -> None:
        self._n_begun += 1
        row.problem = self._refusal or self._limit()
        if row.problem is not None:
            return
        try:
            self._planner.plan(row, self._asked.sent.body_of(row.index))
        except Exception as exc:
            row.problem = self._to_problem(exc)

    def _limit(self) -> Problem | None:
        if self._n_begun > self._asked.n_allowed:
            return build_rate_limit_problem(self._asked.caller)
        if not self._asked.is_streamed and self._n_bytes > MAX_ANSWER_BYTES:
            detail = f"The answer has more than {MAX_ANSWER_BYTES} bytes: ask for `application/x-ndjson`, or send less."
            return Problem(detail, code="body_too_large")
        return None

    def _to_problem(self, exc: Exception) -> Problem:
        """Convert an exception to a problem; one that affects all samples ends the work on those that follow."""
        problem = as_problem(exc)
        if problem is None:
            log.error("batch sample failed", exc_info=exc)
            return Problem()
        if problem.code in ("unavailable", "in_progress"):
            self._refusal = problem
        return problem

    def _fail(self, rows: Iterable[BatchRow], exc: Exception) -> None:
        problem = self._to_problem(exc)
        for row in rows:
            if not row.is_settled:
                row.problem = problem

    def _read_earlier(self, part: list[BatchRow]) -> None:
        """Answer samples by the requests that they repeat, where those are finished."""
        repeated = [row for row in part if row.earlier_id is not None and not row.is_settled]
        self._settle_stored(repeated, is_over=False)

    def _settle_stored(self, rows: list[BatchRow], *, is_over: bool) -> None:
        stored_requests = read_stored_many(
            self._account_id, [row.earlier_id for row in rows if row.earlier_id is not None]
        )
        settled_rows = [
            row for row in rows if row.settle_stored(stored_requests.get(row.earlier_id or 0), is_over=is_over)
        ]
        self._keep_answers(row for row in settled_rows if row.stored is not None and row.stored.is_finished)

    def _tell_workers(self, part: list[BatchRow]) -> None:
        """Tell of what is pending, once for each lane."""
        lanes: dict[str, list[int]] = {}
        reply_to = None
        for row in part:
            if not row.is_pending:
                continue
            request_id = row.request_id or 0
            self._awaited.setdefault(request_id, []).append(row)
            reply_to = self._place.listen(request_id) or reply_to
            fresh = row.planned.accepted.pending_lanes if row.planned and row.earlier_id is None else row.reopened
            for lane in fresh:
                lanes.setdefault(lane, []).append(request_id)
        for lane, request_ids in lanes.items():
            self._enqueue(request_ids, lane, reply_to=reply_to)

    def _receive(self, verdicts: Iterable[Mapping[str, Any]]) -> None:
        """Take in what workers have found, and answer what is complete by it."""
        settled_rows, stored_rows = list[BatchRow](), list[BatchRow]()
        for verdict in verdicts:
            for row in self._awaited.get(verdict[REQUEST], ()):
                if row.is_settled:
                    continue
                if row.earlier_id is not None:
                    stored_rows.append(row)
                elif row.planned is not None:
                    fill_in(row.planned.accepted, verdict)
                    if row.settle():
                        settled_rows.append(row)
        self._keep_answers(settled_rows)
        if stored_rows:
            self._settle_stored(list(dict.fromkeys(stored_rows)), is_over=False)

    def _keep_answers(self, rows: Iterable[BatchRow]) -> None:
        claim, answers = self._asked.claim, {row.index: row.to_keep() for row in rows}
        if claim is None or not answers:
            return
        with account_scope(self._account_id):
            claim.keep(answers)
        self._renewed_at = time.monotonic()

    def _await(self) -> Iterator[bytes]:
        """Wait for the workers, then answer the remaining rows with what is available."""
        began = time.monotonic()
        if self._n_pending:
            # It may have come before anybody listened.
            self._run_guarded(self._look_at_earlier)
            connection.close()
            for verdicts in self._place.arrivals():
                self._run_guarded(partial(self._go_on, verdicts))
                yield from self._ready()
                if not self._n_pending:
                    break
            self._run_guarded(partial(self._give_up, time.monotonic() - began))
        yield from self._ready()

    @property
    def _n_pending(self) -> int:
        return sum(not row.is_settled for row in self._rows)

    def _run_guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as exc:
            self._fail(self._rows, exc)

    def _go_on(self, verdicts: list[Mapping[str, Any]]) -> None:
        self._receive(verdicts)
        if self._asked.claim is not None and time.monotonic() - self._renewed_at > RENEWED_SECONDS:
            self._asked.claim.renew()
            self._renewed_at = time.monotonic()

    def _look_at_earlier(self) -> None:
        self._settle_stored([row for row in self._rows if row.earlier_id and not row.is_settled], is_over=False)

    def _give_up(self, age_seconds: float) -> None:
        """Answer pending rows with what is available, and record that the client will repeat these calls."""
        pending = [row for row in self._rows if row.is_pending]
        self._settle_stored([row for row in pending if row.earlier_id is not None], is_over=True)
        for row in pending:
            row.give_up(age_seconds)
        if pending and not self._asked.prefer.respond_async:
            stamp_many_pending_answered(self._account_id, [row.request_id or 0 for row in pending])
            expect_repeats(self._account_id, seconds=RETRY_WINDOW_SECONDS)

    def _ready(self) -> Iterator[bytes]:
        connection.close()
        while self._rows and self._rows[0].is_settled:
            yield write_row(self._rows.popleft())


def _waits(row: BatchRow) -> bool:
    return row.earlier_id is not None or (row.planned is not None and bool(row.planned.accepted.pending_lanes))
