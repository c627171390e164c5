"""Write operations on annotation criteria, and `annotate`, which stores a label."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.values import (
    AnnotationValue,
    Category,
    LabelledThing,
    category_errors,
    get_categories,
    label_value,
)
from evalsvc.evaluations.ingest.labels import EVALUATION, Label, has_labels, keep_label
from evalsvc.evaluations.ingest.rows import in_zone, moment_errors
from evalsvc.evaluations.models import Evaluation
from evalsvc.projects.services import lock_project
from evalsvc.rest.bodies.names import clean_name
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evalsvc.tenancy.scope import account_scope, current_role

MAX_CRITERIA = 1000
MAX_NAME = 100


@dataclass(frozen=True, slots=True)
class CriteriaFields:
    """What an account decides about a criteria."""

    name: str
    annotation_type: str
    description: str | None = None
    categories: Sequence[Category] = ()
    resource_types: Sequence[str] = ()


def create_criteria(
    *, account: Account, project_id: uuid.UUID, fields: CriteriaFields, actor: str
) -> AnnotationCriteria:
    """Make a criteria. Raises Invalid for fields that cannot be, `already_exists` for a name taken in the project."""
    _check(fields)
    with account_scope(account.pk):
        if lock_project(account.pk, id=project_id, name="") is None:
            raise Invalid(FieldError("/project_id", "No such project."))
        if AnnotationCriteria.objects.filter(account=account).count() >= MAX_CRITERIA:
            raise Invalid(FieldError("", f"An account has at most {MAX_CRITERIA} annotation criteria."))
        row = AnnotationCriteria(account=account, project_id=project_id)
        _save(row, fields)
        record_audit(account=account, actor=actor, action="annotation_criteria.created", target=row.name)
    return row


def revise_criteria(
    *, account: Account, criteria: AnnotationCriteria, fields: CriteriaFields, actor: str
) -> AnnotationCriteria:
    """Change a criteria; its project stays. Existing labels retain their scores.

    The type cannot change once there are labels: a history with two scales would not have a mean.
    """
    _check(fields)
    with account_scope(account.pk):
        row = _locked(account, criteria.pk)
        if row is None:
            raise NotFound
        if fields.annotation_type != row.annotation_type and has_labels(account=account, criteria_id=row.pk):
            detail = "Labels of the present type have been given; make another criteria for another type."
            raise Invalid(FieldError("/annotation_type", detail))
        row.updated_at = Now()
        _save(row, fields)
        record_audit(account=account, actor=actor, action="annotation_criteria.changed", target=row.name)
    return row


def archive_criteria(*, account: Account, criteria: AnnotationCriteria, now: datetime, actor: str) -> None:
    """Take a criteria out of use; its labels stay, as they are scores. Its name is free."""
    with account_scope(account.pk):
        rows = AnnotationCriteria.objects.filter(account=account, pk=criteria.pk)
        if rows.update(archived_at=now) != 1:
            raise NotFound
        record_audit(account=account, actor=actor, action="annotation_criteria.deleted", target=criteria.name)


def annotate(
    *,
    account: Account,
    criteria_id: uuid.UUID,
    of: LabelledThing,
    given: AnnotationValue,
    created_at: datetime | None = None,
    criteria_field: str = "annotation_criteria_id",
    place: Mapping[str, Any] | None = None,
    actor: str | None = None,
) -> Evaluation:
    """Store a person's label of a log, trace, span or evaluation, in place of an earlier one by the same criteria.

    `actor` is the person in the console, for the audit trail; labels that programs send are data, like their scores.
    `place` is where the label belongs if it cannot be taken from an evaluation of a log: outputs of experiments. Raises
    Invalid for a criteria (under `criteria_field`) that the account does not have or that does not apply to such
    things, for values that its type does not accept, and for a missing evaluation.
    """
    if errors := [*_resource_errors(of), *moment_errors(created_at)]:
        raise Invalid(*errors)
    with account_scope(account.pk):
        # The lock makes two concurrent calls one label, and fixes the type until the label is stored.
        criteria = _locked(account, criteria_id)
        if criteria is None:
            raise Invalid(FieldError(f"/{criteria_field}", "No such annotation criteria."))
        if criteria.resource_types and of.kind not in criteria.resource_types:
            kinds = ", ".join(criteria.resource_types)
            raise Invalid(FieldError(f"/{criteria_field}", f"This is not asked of a {of.kind}; only of: {kinds}."))
        value = label_value(criteria.annotation_type, get_categories(criteria), given)
        label = Label(
            criteria_id=criteria.pk,
            name=criteria.name,
            description=criteria.description,
            project_id=criteria.project_id,
            resource_type=of.kind,
            reference=of.reference,
            score=value.score,
            passed=value.passed,
            text=value.text,
            explanation=given.explanation,
            created_at=None if created_at is None else in_zone(created_at),
            place=place,
        )
        try:
            row = keep_label(account=account, label=label)
        except NotFound:
            raise Invalid(FieldError("/reference", "No such evaluation.")) from None
        if actor is not None:
            record_audit(
                account=account,
                actor=actor,
                action="annotation.kept",
                target=criteria.name,
                of=of.kind,
                reference=of.reference,
                evaluation=str(row.pk),
            )
        return row


def _resource_errors(of: LabelledThing) -> Iterator[FieldError]:
    if of.kind == "trace_insight":
        yield FieldError("/type", "There are no trace insights here; annotate the trace.")
    if of.kind == EVALUATION and not is_bigint(of.reference):
        yield FieldError("/reference", "An evaluation's id is a string of digits.")


def _check(fields: CriteriaFields) -> None:
    errors = list(category_errors(fields.annotation_type, fields.categories))
    if not fields.name.strip() or len(fields.name) > MAX_NAME:
        errors.append(FieldError("/name", f"A name has 1 to {MAX_NAME} characters, and not only blanks."))
    if errors:
        raise Invalid(*errors)


def _locked(account: Account, id: uuid.UUID) -> AnnotationCriteria | None:
    rows = AnnotationCriteria.objects.select_for_update().filter(account=account, pk=id)
    return rows.first()


def _save(row: AnnotationCriteria, fields: CriteriaFields) -> None:
    # A name that is already stored stays unchanged.
    row.name = row.name if fields.name == row.name else clean_name(fields.name, "/name")
    row.description, row.annotation_type = fields.description, fields.annotation_type
    row.resource_types = sorted(set(fields.resource_types))
    row.categories = msgspec.to_builtins(list(fields.categories)) or None
    try:
        with transaction.atomic(using=current_role()):
            row.save()
    except IntegrityError:
        detail = f"The project has annotation criteria named {row.name!r} already."
        raise Invalid(FieldError("/name", detail), code="already_exists") from None
    row.refresh_from_db()
