"""Reads of annotation criteria."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from django.db.models import QuerySet

from evalsvc.accounts.models import Account
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.evaluations.ingest.labels import PREFIX
from evalsvc.evaluations.models import Evaluation
from evalsvc.rest.problems import NotFound


def list_criteria(*, account: Account, project_id: uuid.UUID | None = None) -> QuerySet[AnnotationCriteria]:
    """Return the account's criteria, or those of one project, newest first, without the deleted ones."""
    # The manager `objects` leaves the deleted ones out.
    rows = AnnotationCriteria.objects.filter(account=account)
    if project_id is not None:
        rows = rows.filter(project_id=project_id)
    return rows.order_by("-created_at", "id")


def get_criteria(*, account: Account, id: uuid.UUID) -> AnnotationCriteria:
    """Return one criteria of the account; NotFound for missing, foreign and deleted."""
    row = AnnotationCriteria.objects.filter(account=account, id=id).first()
    if row is None:
        raise NotFound
    return row


def labels_of_logs(*, account: Account, log_ids: Collection[str]) -> dict[tuple[str, uuid.UUID], Evaluation]:
    """Return the labels of logs, by log and criteria."""
    rows = Evaluation.objects.filter(account=account, captured=True, log_id__in=log_ids)
    labels = rows.filter(evaluation_type=Evaluation.Type.ANNOTATION, evaluator_id__startswith=PREFIX)
    return {(str(row.log_id), uuid.UUID(row.evaluator_id.removeprefix(PREFIX))): row for row in labels.order_by("id")}
