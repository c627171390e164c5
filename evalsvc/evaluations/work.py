"""What a worker does with one lane of a request: take it, score it outside any transaction, write each verdict once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any, TypeAlias
from uuid import UUID

from django.conf import settings
from django.db import connection, connections

from evalsvc.catalog.models import ProfileRevision
from evalsvc.evaluations import store
from evalsvc.evaluations.deadline import computing
from evalsvc.evaluations.inputs import stored_sample
from evalsvc.evaluations.leases import extend, is_held, postpone
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.scoring import Postponable, Verdict, refused, score_sample
from evalsvc.evaluations.services import verdict_columns
from evalsvc.judges.outside import outside_for
from evalsvc.tenancy.scope import account_scope
from evaluators.base import Lane, Sample, effective_settings
from evaluators.budget import OverBudget
from evaluators.registry import find_evaluator

MAX_AT_ONCE = 8
WRITTEN_AFTER_SECONDS = 2.0
Row: TypeAlias = dict[str, Any]
Scored: TypeAlias = tuple[Evaluation, Verdict]


def work_off(
    *,
    account_id: int,
    request_id: int,
    lane: str,
    expected_attempts: int,
    deliver: Callable[[list[Row]], None] = lambda verdicts: None,
) -> list[Row]:
    """Score what is pending in one lane of a request; return the verdicts that this call wrote.

    On the judge's lane several are scored at once, and each is written as soon as it is there; `deliver` is told of
    what has just been written. Safe to run twice at once: the database keeps the first verdict of each evaluation and
    one history score for it.
    """
    request, leased = lease(account_id, request_id, lane, expected_attempts)
    if request is None or not leased:
        return []
    sample = stored_sample(request)
    settings_of = read_settings(account_id, leased)
    connection.close()

    def score(row: Evaluation) -> Verdict:
        return verdict_of(row, settings_of[row.pk], sample)

    written = []
    for done in as_they_end(account_id, leased, score) if lane == Lane.JUDGE else in_turn(leased, score):
        verdicts = write(account_id, request_id, done)
        if verdicts:
            deliver(verdicts)
        written += verdicts
    return written


def in_turn(rows: list[Evaluation], score: Callable[[Evaluation], Verdict]) -> Iterator[list[Scored]]:
    """Score rows one after the other; yield them all at once, which costs one round trip, or every two seconds.

    A worker that is ended for taking too long has lost the row it was at, and not those before it.
    """
    done: list[Scored] = []
    began = time.monotonic()
    for row in rows:
        done.append((row, score(row)))
        if time.monotonic() - began >= WRITTEN_AFTER_SECONDS:
            yield done
            done, began = [], time.monotonic()
    if done:
        yield done


def as_they_end(
    account_id: int, rows: list[Evaluation], score: Callable[[Evaluation], Verdict]
) -> Iterator[list[Scored]]:
    """Score several rows at once, in threads; yield what has ended. Those that have not keep their lease meanwhile."""
    n_turns = math.ceil(len(rows) / MAX_AT_ONCE)
    give_up_at = time.monotonic() + n_turns * settings.JUDGE_DEADLINE_SECONDS + settings.WORK_LEASE_SECONDS
    pool = ThreadPoolExecutor(min(MAX_AT_ONCE, len(rows)), thread_name_prefix="judge")
    try:
        pending = {pool.submit(_in_thread, score, row): row for row in rows}
        extended_at = time.monotonic()
        while pending:
            ended, _ = wait(pending, timeout=settings.WORK_LEASE_SECONDS / 4, return_when=FIRST_COMPLETED)
            if ended:
                yield [(pending.pop(future), future.result()) for future in ended]
            now = time.monotonic()
            if pending and now < give_up_at and now - extended_at >= settings.WORK_LEASE_SECONDS / 4:
                extend(account_id, list(pending.values()))
                connection.close()
                extended_at = now
    finally:
        pool.shutdown(cancel_futures=True)


def _in_thread(score: Callable[[Evaluation], Verdict], row: Evaluation) -> Verdict:
    try:
        return score(row)
    finally:
        connections.close_all()


def write(account_id: int, request_id: int, done: list[Scored]) -> list[Row]:
    """Write verdicts; return those that were written. What only missed its turn is put off, while there is time."""
    verdicts = [
        {"position": row.position, **verdict_columns(verdict)}
        for row, verdict in done
        if not is_postponed(account_id, row, verdict)
    ]
    written = set(store.finish(account_id, request_id, verdicts)) if verdicts else set()
    # The next answer may take a minute, and others need the connection.
    connection.close()
    return [verdict for verdict in verdicts if verdict["position"] in written]


def is_postponed(account_id: int, row: Evaluation, verdict: Verdict) -> bool:
    """Put the evaluation off if that is all it needs; say whether that was done, or is another worker's to do."""
    if not isinstance(verdict, Postponable):
        return False
    if postpone(account_id, row, retry_after_seconds=verdict.retry_after_seconds):
        return True
    # Who has taken it may have better luck: a turn that was missed here is no answer to it.
    return not is_held(account_id, row)


def lease(
    account_id: int, request_id: int, lane: str, expected_attempts: int
) -> tuple[EvaluationRequest | None, list[Evaluation]]:
    """Take the pending evaluations of a lane unless another worker has them."""
    with account_scope(account_id):
        leased = list(
            Evaluation.objects.raw(
                "SELECT * FROM lease_evaluations(%s, %s, %s, %s, %s)",
                [account_id, request_id, lane, expected_attempts, settings.WORK_LEASE_SECONDS],
            )
        )
        request = EvaluationRequest.objects.filter(account_id=account_id, id=request_id).first()
    return request, sorted(leased, key=lambda row: row.position)


def read_settings(account_id: int, rows: list[Evaluation]) -> dict[int, dict[str, Any]]:
    """Read the frozen settings that each evaluation was accepted with."""
    with account_scope(account_id):
        revisions: dict[tuple[UUID | None, int | None], dict[str, Any]] = {
            (revision.profile_id, revision.number): revision.settings
            for revision in ProfileRevision.objects.filter(profile_id__in={row.profile_id for row in rows})
        }
    return {row.pk: revisions.get((row.profile_id, row.profile_revision), {}) for row in rows}


def verdict_of(row: Evaluation, profile_settings: dict[str, Any], sample: Sample) -> Verdict:
    """Score one evaluation, unless it has outlived too many workers."""
    if row.n_attempts > settings.MAX_ATTEMPTS:
        message = f"{settings.MAX_ATTEMPTS} attempts ended without a verdict; workers died or timed out on this sample."
        return Verdict("error", error_code="worker_lost", error_message=message)
    found = find_evaluator(row.runs or "")
    if found is None:
        message = f"Evaluator {row.runs!r} is not installed on this worker."
        return Verdict("error", error_code="evaluator_failed", error_message=message)
    family, spec = found
    chosen = effective_settings(spec, profile_settings)
    try:
        with computing(settings.COMPUTE_SECONDS):
            return score_sample(family, spec, chosen, sample, row.explain_strategy, outside_for(row.account_id))
    except OverBudget as exc:
        # It came too late for the family, or where the family's own errors are no longer told.
        return refused(exc.code, exc.detail)
