"""Labels for answers, assigned while comparing configs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from evalsvc.accounts.models import Account
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.selectors import get_criteria, list_criteria
from evalsvc.annotations.services import annotate
from evalsvc.annotations.values import LabelledThing
from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.parts.addresses import page_address, safe_next
from evalsvc.console.parts.forms.fields import read_fields
from evalsvc.console.parts.forms.labels import make_first_question, read_label
from evalsvc.experiments.reporting.labelled import LOG, label_place, label_reference
from evalsvc.experiments.selectors import get_output, get_plan
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import NotFound, Problem

MOST_CRITERIA = 50
Type = AnnotationCriteria.Type


def criteria_for_answers(account: Account) -> list[AnnotationCriteria]:
    """Return the criteria that apply to answers."""
    rows = list_criteria(account=account)[:MOST_CRITERIA]
    return [row for row in rows if not row.resource_types or LOG in row.resource_types]


def select_criteria(request: PageRequest, found: Sequence[AnnotationCriteria]) -> AnnotationCriteria | None:
    """Return the criteria that the address names, else the newest one that is answered by pass or fail."""
    selected = next((row for row in found if str(row.pk) == request.GET.get("criteria")), None)
    return selected or next((row for row in found if row.annotation_type == Type.BINARY), next(iter(found), None))


@require_POST
@console_page(role=EDITOR)
def save_label(request: PageRequest) -> HttpResponse:
    """Save a label for one answer."""
    visitor = request.visitor
    text = request.POST.get("output", "")
    output, key = get_output(account=visitor.account, id=int(text) if is_bigint(text) else 0)
    back = safe_next(request, page_address("console_compare"))
    try:
        criteria = _criteria(visitor.account, request.POST.get("criteria", ""))
        row = annotate(
            account=visitor.account,
            criteria_id=criteria.pk,
            of=LabelledThing(LOG, label_reference(output.pk)),
            given=read_label(criteria, read_fields(request)),
            place=label_place(output, key),
            actor=visitor.actor,
        )
    except Problem as problem:
        messages.error(request, problem.detail)
    else:
        label = {True: "pass", False: "fail"}.get(row.passed, row.text_output or f"{row.score:g}")  # type: ignore[arg-type]
        messages.success(request, f"{criteria.name}: “{label}” is kept for the answer of {output.config.name}.")
    return redirect(f"{back}#answer-{output.pk}")


def _criteria(account: Account, text: str) -> AnnotationCriteria:
    try:
        return get_criteria(account=account, id=uuid.UUID(text))
    except ValueError:
        raise NotFound from None


@require_POST
@console_page(role=EDITOR)
def first_question(request: PageRequest) -> HttpResponse:
    """Make a question that is answered by pass or fail, where an account has none yet."""
    visitor = request.visitor
    text = request.POST.get("experiment", "")
    plan = get_plan(account=visitor.account, id=int(text) if is_bigint(text) else 0)
    try:
        make_first_question(account=visitor.account, project_id=plan.experiment.project_id, actor=visitor.actor)
    except Problem as problem:
        messages.error(request, problem.detail)
    return redirect(safe_next(request, page_address("console_compare")))
