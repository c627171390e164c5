"""The page of a review: progress, agreement, estimates, items and links."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.once import OneTimeSecretResponse, run_once
from evalsvc.console.pages.reviews.found import agreement_table, estimates_table, items_table
from evalsvc.console.pages.reviews.links import LINKS_ONCE, issued_links, link_fields, shown_links
from evalsvc.console.pages.reviews.words import DRAWS, KINDS, is_over, state_badge
from evalsvc.console.parts.addresses import choice, page_address, uuid_or_missing
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.confirmation import check_confirmation
from evalsvc.console.parts.forms.fields import read_fields
from evalsvc.rest.problems import NotFound, Problem
from evalsvc.reviews.findings import ReviewFindings, compute_findings, non_response
from evalsvc.reviews.links import revoke_link
from evalsvc.reviews.models import Review
from evalsvc.reviews.selectors import get_review, review_progress
from evalsvc.reviews.services import close_review, delete_review

TABS = ("found", "items", "links")


@require_safe
@console_page()
def review_page(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Show a review: what it has found, its items, or who else may answer it."""
    review = get_review(account=request.visitor.account, id=id)
    return render_review(request, review, choice(request, "tab", TABS, "found"))


def render_review(
    request: PageRequest,
    review: Review,
    tab: str,
    *,
    issued: Sequence[tuple[str, str]] = (),
    sent: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Write the page; `issued` are links with their addresses, which are shown this once."""
    account = request.visitor.account
    findings = compute_findings(account=account, review=review) if tab == "found" else None
    progress = findings.progress if findings else review_progress(account=account, review=review)
    over = is_over(review, progress)
    context: dict[str, Any] = {
        "review": review,
        "tab": tab,
        "state": state_badge(review, progress),
        "progress": progress,
        "n_partial": progress.n_begun - progress.n_complete,
        "n_pending": progress.n_items - progress.n_begun,
        "unanswered": non_response(progress),
        "kind": KINDS[Review.Kind(review.kind)],
        "draw": DRAWS.get(review.sample.get("method", ""), ""),
        "is_open": review.closed_at is None,
        "is_over": over,
        "issued": issued,
    }
    if tab == "items":
        context |= _items(request, review, shows_answers=over)
    elif tab == "links":
        context |= _links(request, review, sent, errors)
    else:
        context |= _build_findings_context(request, review, findings, is_over=over)
    if issued:
        lands_at = f"{page_address('console_review', review.pk)}?tab=links"
        return OneTimeSecretResponse(request, "console/reviews/review.html", context, lands_at=lands_at)
    return render(request, "console/reviews/review.html", context, status=422 if errors else 200)


def _build_findings_context(
    request: PageRequest, review: Review, findings: ReviewFindings | None, *, is_over: bool
) -> dict[str, Any]:
    context: dict[str, Any] = {"call": ApiCall("GET", f"/v1/reviews/{review.pk}")}
    if findings is None:
        return context
    context |= {"agreement": agreement_table(findings), "estimates": estimates_table(findings)}
    if is_over and review.n_answers > 1:
        context["differing"] = items_table(request, review, differing=findings)
    return context


def _items(request: PageRequest, review: Review, *, shows_answers: bool) -> dict[str, Any]:
    call = ApiCall("GET", f"/v1/reviews/{review.pk}/items", {"limit": 25})
    return {"items": items_table(request, review, shows_answers=shows_answers), "call": call}


def _links(
    request: PageRequest, review: Review, sent: Mapping[str, str] | None, errors: Mapping[str, str] | None
) -> dict[str, Any]:
    call = ApiCall("GET", f"/v1/reviews/{review.pk}/links")
    return {"links": shown_links(request, review), "link_fields": link_fields(sent, errors), "call": call}


@require_POST
@console_page()
def act_on_review(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Close or delete a review, make a link to it, or end one."""
    visitor, act = request.visitor, request.POST.get("act", "")
    review = get_review(account=visitor.account, id=id)
    if act == "link":
        return run_once(request, partial(_link, request, review), LINKS_ONCE)
    if act == "revoke":
        link = uuid_or_missing(request.POST.get("link", ""))
        revoke_link(account=visitor.account, review_id=id, id=link, actor=visitor.actor)
        messages.success(request, "The link is ended and no longer works.")
    elif act not in ("close", "delete"):
        raise NotFound
    elif check_confirmation(request, review.name):
        return _ended(request, review, act)
    return redirect(page_address("console_review", id))


def _ended(request: PageRequest, review: Review, act: str) -> HttpResponse:
    visitor = request.visitor
    if act == "close":
        close_review(account=visitor.account, id=review.pk, actor=visitor.actor)
        messages.success(request, f"{review.name} is closed. Existing answers are kept.")
        return redirect(page_address("console_review", review.pk))
    delete_review(account=visitor.account, id=review.pk, actor=visitor.actor)
    messages.success(request, f"{review.name} is deleted. Its labels are kept.")
    return redirect(page_address("console_reviews"))


def _link(request: PageRequest, review: Review) -> HttpResponse:
    values = read_fields(request)
    try:
        issued = issued_links(request, review, [values.get("name", "")], values.get("days", ""))
    except NotFound:
        raise
    except Problem as problem:
        errors = {error.pointer.strip("/"): error.detail for error in problem.errors} or {"name": problem.detail}
        return render_review(request, review, "links", sent=values, errors=errors)
    return render_review(request, review, "links", issued=issued)
