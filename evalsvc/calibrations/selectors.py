"""Labelled scores of one evaluator and profile: from stored evaluations, by id, by feedback, or by people's labels."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import QuerySet

from evalsvc.accounts.models import Account
from evalsvc.catalog.resolve import ResolvedEvaluator
from evalsvc.evaluations.ingest.labels import build_evaluator_id
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.search.results import all_results
from evalsvc.rest.problems import FieldError, Invalid

MOST_ROWS = 5000
MOST_ERRORS = 10
LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class LabelledScore:
    """A score, and whether its row should pass."""

    score: float
    is_good: bool


def scores_by_id(*, account: Account, resolved: ResolvedEvaluator, ids: Mapping[int, int]) -> dict[int, float]:
    """Return the scores of stored evaluations, by their ids. `ids` maps each id to its position in the request.

    Raises Invalid for ids that are missing, foreign, failed, or of another evaluator or profile.
    """
    rows = (
        all_results(account)
        .filter(id__in=[id for id in ids if id <= LARGEST_ID])
        .values_list("id", "evaluator_id", "profile_name", "score")
    )
    results = {id: (evaluator, profile, score) for id, evaluator, profile, score in rows}
    expected = (resolved.evaluator_id, resolved.profile.name)
    errors = [
        FieldError(f"/rows/{position}/evaluation_id", detail)
        for id, position in ids.items()
        if (detail := _misfit(results.get(id), expected))
    ]
    if errors:
        raise Invalid(*errors[:MOST_ERRORS])
    return {id: score for id, (_, _, score) in results.items() if score is not None}


def _misfit(found: tuple[str, str | None, float | None] | None, wanted: tuple[str, str]) -> str | None:
    if found is None or found[2] is None:
        return "No captured evaluation with a score has this id."
    if found[:2] != wanted:
        return f"Is of {found[0]} with {found[1]}, and {wanted[0]} with {wanted[1]} is to be calibrated."
    return None


def scores_with_feedback(*, account: Account, resolved: ResolvedEvaluator) -> list[LabelledScore]:
    """Return the newest results with feedback: right or wrong determines the correct verdict."""
    rows = _filter_results(account, resolved).filter(feedback__isnull=False).order_by("-created_at", "-id")
    return [
        LabelledScore(score, passed is (feedback == Evaluation.Feedback.POSITIVE))
        for score, passed, feedback in rows.values_list("score", "passed", "feedback")[:MOST_ROWS]
        if score is not None
    ]


def scores_with_labels(*, account: Account, resolved: ResolvedEvaluator, criteria_id: uuid.UUID) -> list[LabelledScore]:
    """Return the newest result of each log that people gave pass or fail to, by the criteria."""
    labels = all_results(account).filter(evaluator_id=build_evaluator_id(criteria_id), passed__isnull=False)
    newest = labels.order_by("-created_at", "-id").values_list("log_id", "passed")[:MOST_ROWS]
    is_good = {log_id: bool(passed) for log_id, passed in newest if log_id is not None}
    rows = _filter_results(account, resolved).filter(log_id__in=list(is_good)).order_by("log_id", "-created_at", "-id")
    scores: dict[str, float] = {}
    for log_id, score in rows.values_list("log_id", "score"):
        if log_id is not None and score is not None:
            scores.setdefault(log_id, score)
    return [LabelledScore(score, is_good[log_id]) for log_id, score in scores.items()]


def _filter_results(account: Account, resolved: ResolvedEvaluator) -> QuerySet[Evaluation]:
    return all_results(account).filter(
        evaluator_id=resolved.evaluator_id, profile_name=resolved.profile.name, score__isnull=False
    )
