"""What a worker does with one lane of a request: take it, score it outside any transaction, write each verdict once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias
from uuid import UUID

from django.conf import settings
from django.db import connection

from evalsvc.catalog.models import ProfileRevision
from evalsvc.evaluations.database.round_trips import call_function, dump_jsonb
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.verdicts import Verdict, verdict_columns
from evalsvc.evaluations.wire.inputs import sample_from_row
from evalsvc.evaluations.workers.computing.scorer import compute_evaluation
from evalsvc.tenancy.scope import account_scope
from evaluators.base import Sample

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
    """Score the pending evaluations in one lane of a request; return the verdicts that this call wrote.

    `deliver` is called with the verdicts just written. Concurrent calls are safe: the database retains the first
    verdict of each evaluation and one history score for it. Evaluations that wait for a judge are left to the runners
    (see `judging`).
    """
    request, leased = lease_lane(account_id, request_id, lane, expected_attempts)
    if request is None or not leased:
        return []
    sample = sample_from_row(request)
    settings_of = read_settings(account_id, leased)
    connection.close()

    def score(row: Evaluation) -> Verdict:
        return compute_verdict(row, settings_of[row.pk], sample)

    written_rows = []
    for batch in score_in_batches(leased, score):
        verdicts = write(account_id, request_id, batch)
        if verdicts:
            deliver(verdicts)
        written_rows += verdicts
    return written_rows


def score_in_batches(rows: list[Evaluation], score: Callable[[Evaluation], Verdict]) -> Iterator[list[Scored]]:
    """Score rows one after the other; yield them all at once, which costs one round trip, or every two seconds.

    A worker that is ended for taking too long has lost the row it was at, and not those before it.
    """
    batch: list[Scored] = []
    began = time.monotonic()
    for row in rows:
        batch.append((row, score(row)))
        if time.monotonic() - began >= WRITTEN_AFTER_SECONDS:
            yield batch
            batch, began = [], time.monotonic()
    if batch:
        yield batch


def finish_lane(account_id: int, request_id: int, verdicts: Sequence[Mapping[str, object]]) -> list[int]:
    """Write verdicts of pending evaluations; return the positions that had none before."""
    return call_function(
        "SELECT finish_evaluations(%s, %s, %s::jsonb)", [account_id, request_id, dump_jsonb(verdicts)]
    )[0]


def write(account_id: int, request_id: int, done: list[Scored]) -> list[Row]:
    """Write verdicts; return those that were written."""
    verdicts = [{"position": row.position, **verdict_columns(verdict)} for row, verdict in done]
    new_positions = set(finish_lane(account_id, request_id, verdicts))
    # The next one may take seconds, and others need the connection.
    connection.close()
    return [verdict for verdict in verdicts if verdict["position"] in new_positions]


def lease_lane(
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


def read_settings(account_id: int, rows: list[Evaluation]) -> dict[int, dict[str, object]]:
    """Read the frozen settings that each evaluation was accepted with."""
    with account_scope(account_id):
        revisions: dict[tuple[UUID | None, int | None], dict[str, Any]] = {
            (revision.profile_id, revision.number): revision.settings
            for revision in ProfileRevision.objects.filter(profile_id__in={row.profile_id for row in rows})
        }
    return {row.pk: revisions.get((row.profile_id, row.profile_revision), {}) for row in rows}


def compute_verdict(row: Evaluation, profile_settings: Mapping[str, object], sample: Sample) -> Verdict:
    """Compute one evaluation."""
    return compute_evaluation(
        row.runs,
        n_attempts=row.n_attempts,
        profile_settings=profile_settings,
        sample=sample,
        explain=row.explain_strategy,
    )
