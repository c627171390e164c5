"""Labels: people's scores of a log, a trace, a span or an evaluation.

They are stored as evaluations, and are searched, displayed and added to histories like any other score.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models.functions import Now

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import forget_caches
from evalsvc.evaluations.database.partitions import lookups_for_request, new_ids
from evalsvc.evaluations.history import store
from evalsvc.evaluations.models import Evaluation, EvaluationRequest, HistoryScore
from evalsvc.evaluations.selectors import get_evaluation
from evalsvc.evaluations.wire.request import fingerprint

PREFIX = "annotation:"
LOG, TRACE, SPAN, EVALUATION = "log", "trace", "span", "evaluation"
IN_BOTH = ("app", "experiment_id", "dataset_id", "trace_id")
IN_REQUEST = ("dataset_sample_id", "span_id")


@dataclass(frozen=True, slots=True)
class Label:
    """A person's label of a resource under some criteria; without a score it does not enter a history.

    `reference` is the id of a log, trace, span or evaluation, depending on `resource_type`. `created_at` is the time of
    the label, if that is earlier than the time it is stored. `place` gives the app, experiment and so on that the label
    belongs to, if no evaluation determines it.
    """

    criteria_id: uuid.UUID
    name: str
    description: str | None
    project_id: uuid.UUID
    resource_type: str
    reference: str
    score: float | None
    passed: bool | None
    text: str | None
    explanation: str | None
    created_at: datetime | None = None
    place: Mapping[str, Any] | None = None

    @property
    def log_id(self) -> str | None:
        """Return the log that the label is of, where it is of one."""
        return self.reference if self.resource_type == LOG else None

    @property
    def fingerprint(self) -> bytes:
        """Return the key that a label shares with the labels it replaces."""
        return _build_label_key(self.criteria_id, self.resource_type, self.reference)

    @property
    def evaluator_id(self) -> str:
        """Return the evaluator id of the criteria's history."""
        return build_evaluator_id(self.criteria_id)


def build_evaluator_id(criteria_id: uuid.UUID) -> str:
    """Return the evaluator id of a criteria's labels: no managed evaluator and no client can have it."""
    return f"{PREFIX}{criteria_id}"


def _build_label_key(criteria_id: uuid.UUID, resource_type: str, reference: str) -> bytes:
    of = "" if resource_type == LOG else f"{resource_type}:"
    return f"{build_evaluator_id(criteria_id)} {of}{reference}".encode()


def label_fingerprint(account_id: int, criteria_id: uuid.UUID, resource_type: str, reference: str) -> int:
    """Return the fingerprint of the request that contains the label of this resource under these criteria."""
    return fingerprint(account_id, _build_label_key(criteria_id, resource_type, reference))


def has_labels(*, account: Account, criteria_id: uuid.UUID) -> bool:
    """Return whether anybody has used the criteria."""
    evaluator_id = build_evaluator_id(criteria_id)
    return Evaluation.objects.filter(account=account, captured=True, evaluator_id=evaluator_id).exists()


def keep_label(*, account: Account, label: Label) -> Evaluation:
    """Save a label, replacing an existing label of the same resource under the same criteria; return its evaluation.

    The label is placed where the newest evaluation of the log or trace belongs, so that both are found together. Call
    it within the account's transaction, with a lock on the criteria: concurrent calls would otherwise create two
    labels. Raises NotFound for an evaluation that the account does not have.
    """
    place = _find_place(account, label)
    old = _label_before(account, label)
    id = _add(account, label, place) if old is None else _replace(account, old, label, place)
    return get_evaluation(account=account, id=id)


def _label_before(account: Account, label: Label) -> Evaluation | None:
    """Return the label that this one replaces."""
    rows = Evaluation.objects.select_for_update().filter(
        account=account, captured=True, evaluator_id=label.evaluator_id
    )
    if label.log_id is not None:
        return rows.filter(log_id=label.log_id).first()
    expected_fingerprint = label_fingerprint(account.pk, label.criteria_id, label.resource_type, label.reference)
    requests = EvaluationRequest.objects.filter(account=account, fingerprint=expected_fingerprint).values_list(
        "id", flat=True
    )
    candidates = (rows.filter(**lookups_for_request(id)).first() for id in requests)
    return next((row for row in candidates if row is not None), None)


def _find_place(account: Account, label: Label) -> dict[str, Any]:
    """Return where the newest score of the log or trace, or the evaluation, belongs; nothing when there is none."""
    if label.place is not None:
        return dict(label.place)
    if label.resource_type == SPAN:
        return {"span_id": label.reference}
    if label.resource_type == EVALUATION:
        row = get_evaluation(account=account, id=int(label.reference))
        return {**{name: getattr(row, name) for name in IN_BOTH}, **{n: getattr(row.request, n) for n in IN_REQUEST}}
    column = "log_id" if label.resource_type == LOG else "trace_id"
    rows = Evaluation.objects.filter(account=account, captured=True, **{column: label.reference})
    scores = rows.exclude(evaluation_type=Evaluation.Type.ANNOTATION).order_by("-created_at", "-id")
    newest = scores.values_list(*IN_BOTH, *(f"request__{name}" for name in IN_REQUEST)).first()
    place = dict(zip((*IN_BOTH, *IN_REQUEST), newest, strict=True)) if newest else {}
    return place if label.resource_type == LOG else {**place, "trace_id": label.reference, "span_id": None}


def _add(account: Account, label: Label, place: dict[str, Any]) -> int:
    request_id, id = new_ids(2)
    request = EvaluationRequest(
        id=request_id,
        account=account,
        capture=EvaluationRequest.Capture.ALL,
        fingerprint=fingerprint(account.pk, label.fingerprint),
        project_id=label.project_id,
        log_id=label.log_id,
        completed_at=Now(),
        **place,
    )
    request.save(force_insert=True)
    evaluation = Evaluation(
        id=id,
        account=account,
        request=request,
        position=0,
        evaluator_id=label.evaluator_id,
        # The name is part of the history's key, where the empty name is valid.
        profile_name="",
        status=Evaluation.Status.SUCCESS,
        evaluation_type=Evaluation.Type.ANNOTATION,
        captured=True,
        project_id=label.project_id,
        log_id=label.log_id,
        **_build_label_columns(label),
        **_select_place_columns(place),
        **({} if label.created_at is None else {"created_at": label.created_at}),
    )
    evaluation.save(force_insert=True)
    _remember(account, evaluation.pk, label, evaluation.created_at, place)
    return evaluation.pk


def _replace(account: Account, old: Evaluation, label: Label, place: dict[str, Any]) -> int:
    Evaluation.objects.filter(account=account, pk=old.pk).update(
        **_build_label_columns(label), **_select_place_columns(place)
    )
    if place:
        EvaluationRequest.objects.filter(account=account, pk=old.request_id).update(**place)
    _remember(account, old.pk, label, old.created_at, place)
    if old.in_history and old.score != label.score:
        # Processes remember histories and look for new rows only.
        forget_caches(account.pk)
    return old.pk


def _build_label_columns(label: Label) -> dict[str, Any]:
    """Return the columns that a correction replaces."""
    details = {
        "annotation_criteria_id": str(label.criteria_id),
        "metric_name": label.name,
        "metric_description": label.description,
        **({} if label.resource_type == LOG else {"resource_type": label.resource_type, "reference": label.reference}),
    }
    return {
        "score": label.score,
        "passed": label.passed,
        "text_output": label.text,
        "explanation": label.explanation,
        "in_history": label.score is not None,
        "details": {name: value for name, value in details.items() if value is not None},
        "completed_at": Now(),
    }


def _select_place_columns(place: dict[str, Any]) -> dict[str, Any]:
    return {name: place[name] for name in IN_BOTH if name in place}


def _remember(account: Account, id: int, label: Label, created_at: datetime, place: dict[str, Any]) -> None:
    """Update the history to match the label: one score, or none."""
    rows = HistoryScore.objects.filter(
        account=account, evaluator_id=label.evaluator_id, profile_name="", trial=False, id=id
    )
    belongs = {name: place[name] for name in ("app", "experiment_id") if name in place}
    if label.score is None:
        rows.delete()
    elif not rows.update(score=label.score, passed=label.passed, **belongs):
        store.remember_score(
            account.pk,
            store.HistoryEntry(
                id=id,
                evaluator_id=label.evaluator_id,
                profile_name="",
                score=label.score,
                passed=label.passed,
                source=HistoryScore.Source.EVALUATION,
                source_id=id,
                project_id=label.project_id,
                created_at=created_at,
                **belongs,
            ),
        )
