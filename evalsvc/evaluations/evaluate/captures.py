"""Captures, written with those of other requests that wait in this process: one transaction, and one commit, for all.

See docs/adr/0032-captures-in-groups.md.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from django.db import DatabaseError, connection
from psycopg import Error

from evalsvc.evaluations.database.round_trips import call_function, dump_jsonb
from evalsvc.evaluations.evaluate.group_commit import Group
from evalsvc.evaluations.history.cache import HistorySnapshot, Pairs, get_cached_histories, split, update_histories
from evalsvc.tenancy.scope import APP, current_role

log = logging.getLogger(__name__)
MOST = 32
"""Captures in one transaction."""
MOST_CHARS, MOST_EVALUATIONS = 50_000, 8
"""Of a capture in a group: larger ones would hold up the others, and save little, as the commit is little of them."""

CAPTURE = (
    "SELECT request_id, created_at, evaluation_ids, ids, scores, facts, hashes, batches, probabilities,"
    " snapshots, are_new"
    " FROM capture_request(%s, %s::jsonb, %s::jsonb, %s, %s::text[], %s::text[], %s::text[], %s)"
)
CAPTURE_BATCH = (
    "SELECT request_ids, created_at, evaluation_ids, ids, scores, facts, hashes, batches, probabilities,"
    " snapshots, are_new"
    " FROM capture_requests(%s::jsonb, %s::bigint[], %s::text[], %s::text[], %s::text[])"
)
Read: TypeAlias = tuple[int, str | None, tuple[str, str]]
"""A history to read: the account, its epoch, and (evaluator id, profile name)."""


@dataclass(frozen=True, slots=True)
class CaptureResult:
    """The result of capturing a request."""

    request_id: int
    created_at: datetime
    evaluation_ids: list[int]
    histories: list[HistorySnapshot | None]


@dataclass(frozen=True, slots=True)
class Capture:
    """A request to write, as JSON, with the histories that its answer needs."""

    account_id: int
    request: str
    evaluations: str
    n_evaluations: int
    pairs: Pairs
    epoch: str | None
    lease_seconds: float

    @property
    def reads(self) -> list[Read]:
        """Return the histories to read, one for each pair that is not None."""
        return [(self.account_id, self.epoch, pair) for pair in self.pairs if pair]

    @property
    def is_small(self) -> bool:
        """Return whether it goes with others."""
        n_chars = len(self.request) + len(self.evaluations)
        return n_chars <= MOST_CHARS and max(self.n_evaluations, len(self.pairs)) <= MOST_EVALUATIONS

    def as_json(self) -> str:
        """Write it as an element of what `capture_requests` takes."""
        return (
            f'{{"account":{self.account_id},"lease_seconds":{self.lease_seconds!r},'
            f'"request":{self.request},"evaluations":{self.evaluations}}}'
        )


def capture(
    account_id: int,
    request: Mapping[str, object],
    evaluations: Sequence[Mapping[str, object]],
    pairs: Pairs,
    *,
    epoch: str | None,
    lease_seconds: float,
) -> CaptureResult:
    """Write a request with its evaluations and history scores, and read the histories as they were before it.

    Within a transaction of the caller's, or another role, it is written by itself.
    """
    item = Capture(
        account_id, dump_jsonb(request), dump_jsonb(evaluations), len(evaluations), pairs, epoch, float(lease_seconds)
    )
    if item.is_small and current_role() == APP and not connection.in_atomic_block:
        return captures.submit(item)
    return capture_alone(item)


def capture_alone(wanted: Capture, *, waits: bool = True) -> CaptureResult:
    """Write one request in a call of its own; unless `waits` is true, a lock conflict raises an error."""
    cached_histories = get_cached_histories(wanted.account_id, wanted.epoch, wanted.pairs)
    values = [wanted.account_id, wanted.request, wanted.evaluations, wanted.lease_seconds, *split(wanted.pairs)]
    values += [[history.snapshot if history else None for history in cached_histories], waits]
    request_id, created_at, evaluation_ids, *histories = call_function(CAPTURE, values)
    up_to_date = update_histories(wanted.account_id, wanted.epoch, wanted.pairs, cached_histories, histories)
    return CaptureResult(request_id, created_at, evaluation_ids, up_to_date)


def capture_together(wanted: Sequence[Capture]) -> list[CaptureResult]:
    """Write requests of any accounts in one transaction that does not wait for locks.

    A history that several of them need is read once, before any of them is written.
    """
    if len(wanted) == 1:
        return [capture_alone(wanted[0], waits=False)]
    # What is of one account is read, and written, in one statement.
    order = sorted(range(len(wanted)), key=lambda i: wanted[i].account_id)
    captured = _capture_batch([wanted[i] for i in order])
    return [result for _, result in sorted(zip(order, captured, strict=True), key=lambda pair: pair[0])]


def _capture_batch(wanted: Sequence[Capture]) -> list[CaptureResult]:
    """Write requests in the order of their accounts."""
    reads = list(dict.fromkeys(read for item in wanted for read in item.reads))
    cached_histories = [get_cached_histories(account_id, epoch, [pair])[0] for account_id, epoch, pair in reads]
    values = [
        f"[{','.join(item.as_json() for item in wanted)}]",
        [account_id for account_id, _, _ in reads],
        *split([pair for _, _, pair in reads]),
        [history.snapshot if history else None for history in cached_histories],
    ]
    request_ids, created_at, evaluation_ids, *row = call_function(CAPTURE_BATCH, values)
    histories = {
        (account_id, epoch, pair): update_histories(account_id, epoch, [pair], [old], [[part[i]] for part in row])[0]
        for i, ((account_id, epoch, pair), old) in enumerate(zip(reads, cached_histories, strict=True))
    }
    ids = iter(evaluation_ids)
    return [
        CaptureResult(
            request_id,
            at,
            [next(ids) for _ in range(item.n_evaluations)],
            [histories[item.account_id, item.epoch, pair] if pair else None for pair in item.pairs],
        )
        for item, request_id, at in zip(wanted, request_ids, created_at, strict=True)
    ]


class Captures:
    """Captures as the work of a group."""

    def prepare(self) -> None:
        """Get a connection: what comes while the pool has none joins the call."""
        connection.ensure_connection()

    def step_aside(self) -> None:
        """Return the connection to the pool: the leader might be waiting for it."""
        connection.close()

    def run_batch(self, items: Sequence[Capture]) -> list[CaptureResult] | None:
        """Write the items; return None if the database reports that nothing was written."""
        try:
            return capture_together(items)
        except DatabaseError as exc:
            if not is_undone(exc):
                raise
            # Without the message: it may quote what one of the callers has sent.
            log.warning("%d captures failed together; retrying each separately: %s", len(items), type(exc).__name__)
            return None

    def run_single(self, item: Capture) -> CaptureResult:
        """Write one."""
        return capture_alone(item)


def is_undone(exc: DatabaseError) -> bool:
    """Return whether the server itself reported this error and has therefore rolled its transaction back.

    An error without a code, or one that also closed the connection, might have occurred after the commit.
    """
    cause, raw = exc.__cause__, connection.connection
    return isinstance(cause, Error) and cause.sqlstate is not None and raw is not None and not raw.closed


captures: Group[Capture, CaptureResult] = Group(Captures(), most=MOST)
