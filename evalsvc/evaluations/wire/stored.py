"""From stored rows to the facts that answers are written from."""

from __future__ import annotations

from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.verdicts import verdict_from_row
from evalsvc.evaluations.wire.answer import EntryFacts, RequestFacts
from evalsvc.evaluations.wire.inputs import as_sent, sample_from_row


def request_facts(request: EvaluationRequest, log_id: str | None) -> RequestFacts:
    """Return the request's part of an answer; its log is known by its evaluations."""
    return RequestFacts(
        sample=sample_from_row(request),
        strategy=request.strategy,
        id=request.id,
        created_at=request.created_at,
        project_id=request.project_id,
        app=request.app,
        experiment_id=request.experiment_id,
        extras=as_sent(request.extras) if request.extras else None,
        tags=request.tags,
        dataset_id=request.dataset_id,
        dataset_sample_id=request.dataset_sample_id,
        log_id=log_id,
    )


def build_entry(row: Evaluation) -> EntryFacts:
    """Return one stored evaluation's part of an answer."""
    return EntryFacts(
        evaluator_id=row.evaluator_id,
        profile_name=row.profile_name or "",
        verdict=verdict_from_row(row),
        explain_strategy=row.explain_strategy,
        family=row.family,
        profile_id=row.profile_id,
        profile_revision=row.profile_revision,
        evaluation_id=row.id,
        captured=bool(row.captured),
        evaluation_type=row.evaluation_type,
        details=as_sent(row.details) if row.details else None,
        favorite=row.favorite,
        feedback=row.feedback,
    )
