"""What is done with an evaluation: it is labelled, or its sample becomes an example of a dataset."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalsvc.accounts.models import Account
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.selectors import list_criteria
from evalsvc.annotations.services import annotate
from evalsvc.annotations.values import LabelledThing
from evalsvc.console.pages.evaluations.labelled import is_label
from evalsvc.console.parts.captured import build_example
from evalsvc.console.parts.forms.labels import label_options, make_first_question, read_label
from evalsvc.datasets.extension import extend_dataset
from evalsvc.datasets.importers.reader import read_examples
from evalsvc.datasets.models import DatasetVersion
from evalsvc.datasets.selectors import get_dataset
from evalsvc.datasets.services import create_dataset
from evalsvc.evaluations.models import Evaluation
from evalsvc.projects.services import remember_project
from evalsvc.rest.bodies.scalars import read_uuid
from evalsvc.rest.problems import FieldError, Invalid

MAX_CRITERIA = 30
NEW = "new"
QUESTION_PROJECT = "Reviews"
"""Where a question belongs that is asked of an evaluation of no project."""


@dataclass(frozen=True, slots=True)
class LabelForm:
    """One criteria as a form: buttons, a choice, a number or a text."""

    criteria: AnnotationCriteria
    kind: str
    options: Sequence[tuple[str, str]]


def label_forms(*, account: Account, row: Evaluation) -> list[LabelForm]:
    """Return a form for each criteria that applies to the evaluation."""
    kind = get_label_target(row, None).kind
    rows = list_criteria(account=account)[:MAX_CRITERIA]
    applicable = [
        criteria
        for criteria in rows
        if not criteria.resource_types or {kind, "evaluation"} & set(criteria.resource_types)
    ]
    return [LabelForm(criteria, criteria.annotation_type, label_options(criteria)) for criteria in applicable]


def question_for_evaluations(*, account: Account, row: Evaluation, actor: str) -> AnnotationCriteria:
    """Make a first question about evaluations, in the evaluation's project or that of reviews."""
    project_id = row.project_id or remember_project(account.pk, QUESTION_PROJECT)
    return make_first_question(account=account, project_id=project_id, actor=actor)


def get_label_target(row: Evaluation, criteria: AnnotationCriteria | None) -> LabelledThing:
    """Return what a label applies to: the log, if all its evaluations share the label, else this evaluation."""
    if is_label(row) and "reference" in (details := row.details or {}):
        # A label of a label applies to the target of the original label.
        return LabelledThing(details["resource_type"], details["reference"])
    may_log = criteria is None or not criteria.resource_types or "log" in criteria.resource_types
    if row.log_id and may_log:
        return LabelledThing("log", row.log_id)
    return LabelledThing("evaluation", str(row.pk))


def save_form_label(*, account: Account, row: Evaluation, sent: Mapping[str, str], actor: str) -> AnnotationCriteria:
    """Save the label in a form.

    Raises what `read_label` raises, and Invalid for values that the criteria does not accept.
    """
    criteria_id = read_uuid(sent.get("criteria", ""))
    criteria = next((candidate for candidate in list_criteria(account=account) if candidate.pk == criteria_id), None)
    if criteria is None:
        raise Invalid(FieldError("/criteria", "Choose a label question."))
    value = read_label(criteria, sent)
    annotate(account=account, criteria_id=criteria.pk, of=get_label_target(row, criteria), given=value, actor=actor)
    return criteria


def add_to_dataset(
    *, account: Account, row: Evaluation, sent: Mapping[str, str], actor: str
) -> tuple[DatasetVersion, bool]:
    """Add the sample to a dataset, or begin one with it; return the version, and whether it is new."""
    example = build_example(row.request, sent.get("expected", "").strip() or None)
    choice = sent.get("dataset", "")
    if choice == NEW:
        version = create_dataset(
            account=account,
            name=sent.get("name", "").strip(),
            rows=read_examples([example]),
            format="json",
            actor=actor,
        )
        return version, True
    if (id := read_uuid(choice)) is None:
        raise Invalid(FieldError("/dataset", "Choose a dataset."))
    dataset = get_dataset(account=account, id=uuid.UUID(str(id)))
    return extend_dataset(account=account, dataset=dataset, examples=[example], actor=actor)
