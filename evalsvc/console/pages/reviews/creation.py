"""A new review by form: the same body as `POST /v1/reviews`, refused at the field."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from rest_framework.exceptions import ValidationError

from evalsvc.accounts.models import Account
from evalsvc.accounts.views import validate_strict
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.annotations.selectors import list_criteria
from evalsvc.annotations.services import CriteriaFields, create_criteria
from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.pages.reviews.form_fields import (
    MOST_CRITERIA,
    Sent,
    answer_fields,
    criteria_fields,
    people_fields,
    source_fields,
)
from evalsvc.console.pages.reviews.links import LINKS_ONCE, issued_links, parse_days
from evalsvc.console.pages.reviews.page import render_review
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.fields import errors_at, read_fields
from evalsvc.evaluations.search.asked import read_filters
from evalsvc.experiments.selectors import get_plan
from evalsvc.projects.services import remember_project
from evalsvc.rest.bodies.scalars import is_bigint
from evalsvc.rest.problems import FieldError, Invalid, NotFound, Problem
from evalsvc.reviews.bodies import ReviewIn, review_fields
from evalsvc.reviews.models import Review
from evalsvc.reviews.services import create_review
from evalsvc.tenancy.scope import current_role

KINDS = ("outputs", "pairs", "evaluations")
QUESTION_PROJECT = "Reviews"
"""Where a question belongs that is asked of evaluations of several projects."""
PLACES = {
    "n": "n",
    "metric": "metric",
    "threshold": "threshold",
    "method": "method",
    "configs": "configs",
    "experiment_id": "experiment",
}
"""The field of the form for the last part of a pointer that is not named as its field is."""


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=LINKS_ONCE)
def new_review(request: PageRequest) -> HttpResponse:
    """Show the form of a new review, or create the review; the filters of evaluations remain in the query string."""
    if request.method != "POST":
        return _form(request, _prefill(request))
    values: Sent = read_fields(request)
    try:
        # What cannot be made leaves no question behind.
        with transaction.atomic(using=current_role()):
            review = _create_review(request, values)
            names = [line.strip() for line in values.get("people", "").splitlines() if line.strip()]
            parse_days(values.get("days", ""))
            issued = _links(request, review, names, values.get("days", "")) if names else []
    except NotFound:
        raise
    except (Problem, ValidationError) as exc:
        return _form(request, values, errors_at(exc, _field))
    messages.success(request, f"{review.name} is there, with {review.n_items} items.")
    if issued:
        return render_review(request, review, "links", issued=issued)
    return redirect(page_address("console_review", review.pk))


def _links(request: PageRequest, review: Review, names: Sequence[str], days: str) -> list[tuple[str, str]]:
    """Create the links. An error in a name is reported at the field that contains all names."""
    try:
        return issued_links(request, review, names, days)
    except Invalid as problem:
        errors = (FieldError("/people", error.detail) for error in problem.errors)
        raise Invalid(*errors, code=problem.code) from None


def _prefill(request: PageRequest) -> Sent:
    """Return what the address brings along: an experiment, or filters of evaluations."""
    query = request.GET
    kind = query.get("of", "")
    values = {"of": kind if kind in KINDS else "outputs", "expected": "on"}
    for name in ("name", "configs"):
        if query.get(name):
            values[name] = query[name][:200]
    if "experiment" in query and kind != "evaluations":
        values["experiment"] = query["experiment"]
    return values


def _form(request: PageRequest, sent: Sent, errors: Mapping[str, str] | None = None) -> HttpResponse:
    account, field_errors = request.visitor.account, errors or {}
    search_query = read_filters(request.GET.dict(), request.visitor.now) if sent.get("of") == "evaluations" else None
    context = {
        "what": criteria_fields(account, sent, field_errors),
        "source": source_fields(account, sent, field_errors),
        "how": answer_fields(sent, field_errors),
        "people": people_fields(sent, field_errors),
        "asked": dict(search_query.values) if search_query else {},
        "query": request.GET.urlencode(),
        "refused": field_errors.get("", ""),
        "n_errors": len(field_errors),
        "call": ApiCall("POST", "/v1/reviews", body=_body(request, sent, ["…"])),
    }
    return render(request, "console/reviews/new.html", context, status=422 if errors else 200)


def _create_review(request: PageRequest, sent: Sent) -> Review:
    visitor = request.visitor
    criteria = [name.removeprefix("c-") for name in sent if name.startswith("c-")]
    if (question := sent.get("question", "").strip()) and sent.get("of") != "pairs":
        criteria.append(str(_question(visitor.account, question, sent, visitor.actor).pk))
    if sent.get("of") == "evaluations" and (wrong := read_filters(request.GET.dict(), visitor.now).errors):
        raise Invalid(*(FieldError("/items", f"{name}: {message}") for name, message in wrong.items()))
    fields = review_fields(validate_strict(ReviewIn(data=_body(request, sent, criteria))))
    return create_review(account=visitor.account, fields=fields, actor=visitor.actor)


def _question(account: Account, name: str, sent: Sent, actor: str) -> AnnotationCriteria:
    """Return the pass-or-fail question of this name, making it if it is new."""
    kind = AnnotationCriteria.Type.BINARY
    rows = list_criteria(account=account)[:MOST_CRITERIA]
    same = next((row for row in rows if row.name == name and row.annotation_type == kind), None)
    if same is not None:
        return same
    try:
        return create_criteria(
            account=account, project_id=_project(account, sent), fields=CriteriaFields(name, kind), actor=actor
        )
    except Invalid as problem:
        raise Invalid(*(FieldError("/question", error.detail) for error in problem.errors)) from None


def _project(account: Account, sent: Sent) -> uuid.UUID:
    text = sent.get("experiment", "")
    if sent.get("of") != "evaluations" and is_bigint(text):
        return get_plan(account=account, id=int(text)).experiment.project_id
    return remember_project(account.pk, QUESTION_PROJECT)


def _body(request: PageRequest, sent: Sent, criteria: list[str]) -> dict[str, Any]:
    """Return the body that the API takes."""
    kind = sent.get("of", "outputs")
    body: dict[str, Any] = {
        "name": sent.get("name", "").strip(),
        "items": {kind if kind in KINDS else "outputs": _source(request, sent, kind)},
        "n_answers": _parse_int(sent.get("n_answers") or "1"),
        "show_scores": "scores" in sent,
        "show_answers": "answers" in sent,
        "show_expected": "expected" in sent,
    }
    if kind != "pairs":
        body["criteria"] = criteria
    if instructions := sent.get("instructions", "").replace("\r\n", "\n").strip():
        body["instructions"] = instructions
    if sample := _sample(sent):
        body["sample"] = sample
    if seed := sent.get("seed", "").strip():
        body["seed"] = _parse_int(seed)
    return body


def _source(request: PageRequest, sent: Sent, kind: str) -> dict[str, Any]:
    if kind == "evaluations":
        return {"filters": read_filters(request.GET.dict(), request.visitor.now).filters}
    configs = [name for part in sent.get("configs", "").split(",") if (name := part.strip())]
    return {"experiment_id": sent.get("experiment", ""), **({"configs": configs} if configs else {})}


def _sample(sent: Sent) -> dict[str, Any]:
    method = sent.get("method", "") or "all"
    if method == "all":
        return {}
    sample: dict[str, Any] = {"method": method, "n": _parse_int(sent.get("n", ""))}
    if metric := sent.get("metric", "").strip():
        sample["metric"] = metric
    return sample


def _parse_int(text: str) -> int | str:
    """Return a whole number, or what was written for the API to refuse."""
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) < 17 else text


def _field(pointer: str) -> str:
    parts = pointer.strip("/").split("/")
    if parts[0] in ("items", "sample"):
        place = next((PLACES[part] for part in reversed(parts) if part in PLACES), "")
        return place or ("method" if parts[0] == "sample" else "of")
    return "question" if parts[0] == "criteria" else parts[0]
