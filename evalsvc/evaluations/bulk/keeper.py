"""Store the samples of a batch: captures in one statement, histories in one, and claims in the same transaction."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from django.conf import settings
from django.db import DatabaseError, connections
from django.utils import timezone

from evalsvc.evaluations.bulk.planner import ask_key
from evalsvc.evaluations.bulk.rows import BatchRow, PlannedRow
from evalsvc.evaluations.database.round_trips import dump_jsonb
from evalsvc.evaluations.evaluate import accept
from evalsvc.evaluations.evaluate.captures import (
    Capture,
    CaptureResult,
    capture_alone,
    capture_together,
    is_undone,
)
from evalsvc.evaluations.evaluate.retries import find_many_retried, reopen
from evalsvc.evaluations.evaluate.rows import evaluation_row, request_row
from evalsvc.evaluations.evaluate.use_case import retry_evidence
from evalsvc.evaluations.history import store
from evalsvc.evaluations.history.cache import HistorySnapshot
from evalsvc.evaluations.history.interval import answer_interval
from evalsvc.infra.locks import EQUAL_CALLS
from evalsvc.rest.idempotent_rows import IdempotentResult
from evalsvc.rest.problems import Problem, as_problem
from evalsvc.tenancy.scope import account_scope, current_role

log = logging.getLogger(__name__)
Pair = tuple[str, str]


class BatchClaim(Protocol):
    """Who writes down, in the transaction that stores samples, what became of them."""

    def keep(self, rows: dict[int, IdempotentResult]) -> None:
        """Write what became of samples by their indices. An error undoes the evaluations too."""


@dataclass(frozen=True, slots=True)
class Keeper:
    """Stores the samples of one batch."""

    account_id: int
    epoch: str | None
    claim: BatchClaim | None
    expects_repeats: bool
    writes_answers: bool = True
    batch_id: int = field(default_factory=partial(secrets.randbits, 63))

    def keep(self, rows: Sequence[BatchRow], *, keep_always: bool, tells_pending: bool) -> None:
        """Store the work of planned samples, and answer those that are finished.

        If the database refuses them together, each is stored separately, so that one does not affect the others.
        """
        unsettled = [row for row in rows if row.planned is not None and not row.is_settled]
        for row in unsettled:
            _choose_entries(row, keep_always=keep_always, tells_pending=tells_pending)
        if not unsettled:
            return
        try:
            self._store_or_reset(unsettled)
        except DatabaseError as exc:
            if len(unsettled) == 1 or not is_undone(exc):
                raise
            log.warning("batch of %d samples refused, storing each separately: %s", len(unsettled), type(exc).__name__)
            self._store_separately(unsettled)

    def _store_separately(self, rows: Sequence[BatchRow]) -> None:
        for row in rows:
            try:
                self._store_or_reset([row])
            except DatabaseError as exc:
                if not is_undone(exc):
                    raise
                row.problem = as_problem(exc) or Problem()
                if row.problem.code == Problem.code:
                    log.error("batch sample not stored: %s", type(exc).__name__)

    def _store_or_reset(self, rows: Sequence[BatchRow]) -> None:
        """Store samples together, and discard their answers if the transaction is rolled back."""
        try:
            self._store_together(rows)
        except BaseException:
            for row in rows:
                row.forget_outcome()
            raise

    def _store_together(self, rows: Sequence[BatchRow]) -> None:
        signs = [
            None if self.claim else retry_evidence(_require_plan(row).asked, _require_plan(row).accepted.entries)
            for row in rows
        ]
        is_one_transaction = self.claim is not None or any(signs)
        with account_scope(self.account_id) if is_one_transaction else nullcontext():
            if any(signs) or (self.claim is None and self.expects_repeats):
                self._recognise(rows, signs)
            new = [row for row in rows if row.earlier_id is None and row.twin is None]
            self._capture(new)
            if self.writes_answers:
                for row in new:
                    row.settle()
            if self.claim is not None:
                self.claim.keep({row.index: row.to_keep() for row in new})

    def _recognise(self, rows: Sequence[BatchRow], signs: Sequence[Any]) -> None:
        """Find the samples that repeat an earlier call, as a single call would; or another sample of this batch."""
        digests = [_require_plan(row).asked.fingerprint for row in rows]
        if any(signs):
            with connections[current_role()].cursor() as cursor:
                EQUAL_CALLS.take_all(cursor, [digest for digest, sign in zip(digests, signs, strict=True) if sign])
        candidates = [
            (digest, len(_require_plan(row).accepted.entries), sign)
            for row, digest, sign in zip(rows, digests, signs, strict=True)
        ]
        first: dict[int, BatchRow] = {}
        for row, digest, sign, repeat in zip(
            rows,
            digests,
            signs,
            find_many_retried(account_id=self.account_id, asked=candidates, now=timezone.now()),
            strict=True,
        ):
            if sign and digest in first:
                row.twin = first[digest]
            elif repeat is not None:
                row.earlier_id = repeat.request_id
                row.reopened = (
                    reopen(account_id=self.account_id, request_id=repeat.request_id) if repeat.try_again else []
                )
            first.setdefault(digest, row)

    def _capture(self, rows: Sequence[BatchRow]) -> None:
        scoped = self._read_scoped(rows)
        captures = [row for row in rows if _require_plan(row).kept]
        captures_made = _write_captures([self._capture_of(row, scoped) for row in captures])
        histories = {row.index: captured.histories for row, captured in zip(captures, captures_made, strict=True)}
        for row, captured in zip(captures, captures_made, strict=True):
            _take_ids(_require_plan(row), captured)
        self._read_plain([row for row in rows if row.index not in histories], scoped, histories)
        intervals: dict[tuple[Pair, str, str], dict[str, Any] | None] = {}
        for row in rows:
            _add_intervals(_require_plan(row), scoped.get(row.index) or histories[row.index], intervals)

    def _capture_of(self, row: BatchRow, scoped: dict[int, list[HistorySnapshot | None]]) -> Capture:
        plan = _require_plan(row)
        pairs = history_pairs(plan)
        request = request_row(
            plan.accepted, plan.asked.fingerprint, batch_id=self.batch_id, probability=row.probability
        )
        return Capture(
            self.account_id,
            dump_jsonb(request),
            dump_jsonb([evaluation_row(plan.accepted.call, entry) for entry in plan.kept]),
            len(plan.kept),
            [None] * len(pairs) if row.index in scoped else pairs,
            self.epoch,
            float(settings.LEASE_SECONDS),
        )

    def _read_scoped(self, rows: Sequence[BatchRow]) -> dict[int, list[HistorySnapshot | None]]:
        """Read the histories of narrower windows, each once, before anything is stored."""
        groups: dict[str, list[BatchRow]] = {}
        for row in rows:
            if (window := _require_plan(row).window) is not None:
                groups.setdefault(dump_jsonb(window), []).append(row)
        histories: dict[int, list[HistorySnapshot | None]] = {}
        for same in groups.values():
            window = _require_plan(same[0]).window
            pairs = list(dict.fromkeys(pair for row in same for pair in history_pairs(_require_plan(row)) if pair))
            assert window is not None  # noqa: S101  they are grouped by it
            read = dict(zip(pairs, store.read_scoped(self.account_id, pairs, window), strict=True))
            for row in same:
                histories[row.index] = [read[pair] if pair else None for pair in history_pairs(_require_plan(row))]
        return histories

    def _read_plain(
        self,
        rows: Sequence[BatchRow],
        scoped: dict[int, list[HistorySnapshot | None]],
        found: dict[int, list[HistorySnapshot | None]],
    ) -> None:
        """Add the histories of samples that leave nothing behind, in one message."""
        pairs_by_row = {row.index: [] if row.index in scoped else history_pairs(_require_plan(row)) for row in rows}
        pairs = list(dict.fromkeys(pair for some in pairs_by_row.values() for pair in some if pair))
        read = dict(zip(pairs, store.read_histories(self.account_id, pairs, epoch=self.epoch), strict=True))
        for index, some in pairs_by_row.items():
            found[index] = [read[pair] if pair else None for pair in some]


def _require_plan(row: BatchRow) -> PlannedRow:
    assert row.planned is not None  # noqa: S101  only planned samples are kept
    return row.planned


def history_pairs(planned: PlannedRow) -> list[Pair | None]:
    """Return the histories that a sample's answer needs, one for each evaluator."""
    wants = planned.accepted.call.interval.strategy != "none"
    return [
        (entry.resolved.evaluator_id, entry.resolved.profile.name) if entry.resolved and wants else None
        for entry in planned.accepted.entries
    ]


def _choose_entries(row: BatchRow, *, keep_always: bool, tells_pending: bool) -> None:
    plan = _require_plan(row)
    plan.accepted.is_answered_pending = tells_pending and bool(plan.accepted.pending_lanes)
    plan.kept = accept.entries_to_store(plan.accepted, keep_always=keep_always)


def _write_captures(captures: Sequence[Capture]) -> list[CaptureResult]:
    """Write captures in one statement. Only a single capture waits for a lock that another transaction has."""
    if len(captures) == 1:
        return [capture_alone(captures[0])]
    return capture_together(captures) if captures else []


def _take_ids(planned: PlannedRow, captured: CaptureResult) -> None:
    planned.accepted.request_id, planned.accepted.created_at = captured.request_id, captured.created_at
    for entry, evaluation_id in zip(planned.kept, captured.evaluation_ids, strict=True):
        entry.evaluation_id = evaluation_id


def _add_intervals(
    planned: PlannedRow,
    histories: Sequence[HistorySnapshot | None],
    known: dict[tuple[Pair, str, str], dict[str, Any] | None],
) -> None:
    """Compute each interval once: samples of one part have the same history."""
    ask = planned.accepted.call.interval
    if ask.strategy == "none":
        return
    wish, window = ask_key(ask), dump_jsonb(planned.window)
    for entry, history in zip(planned.accepted.entries, histories, strict=True):
        if (run := entry.resolved) is None:
            continue
        key = (run.evaluator_id, run.profile.name), wish, window
        if key not in known:
            known[key] = answer_interval(ask, run.family, history, has_verdict=run.has_verdict)
        entry.interval = known[key]
        side = planned.side
        entry.experiment_interval = side.interval_of(run.evaluator_id, run.profile.name) if side else None
