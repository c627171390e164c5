"""What a worker does with one lane of a request: take it, score it outside any transaction, write it once."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from evalsvc.catalog.models import ProfileRevision
from evalsvc.evaluations import store
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.scoring import Verdict, score_sample
from evalsvc.evaluations.selectors import sample_of
from evalsvc.evaluations.services import verdict_columns
from evalsvc.tenancy.scope import account_scope
from evaluators.base import Sample, effective_settings
from evaluators.registry import find_evaluator


def work_off(*, account_id: int, request_id: int, lane: str, expected_attempts: int) -> list[dict[str, Any]]:
    """Score what is pending in one lane of a request; return the verdicts that this call wrote.

    Safe to run twice at once: the database keeps the first verdict of each evaluation and one history score for it.
    """
    request, leased = lease(account_id, request_id, lane, expected_attempts)
    if request is None or not leased:
        return []
    sample = sample_of(request)
    settings_of = read_settings(account_id, leased)
    connection.close()
    verdicts = [
        {"position": row.position, **verdict_columns(verdict_of(row, settings_of[row.pk], sample))} for row in leased
    ]
    written = set(store.finish(account_id, request_id, verdicts))
    return [verdict for verdict in verdicts if verdict["position"] in written]


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
    return score_sample(family, spec, effective_settings(spec, profile_settings), sample, row.explain_strategy)
