"""The review queue: one item at a time, for signed-in members and for people with a review link.

Without JavaScript each answer redirects to the next page; with it, only the item is replaced.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from evalsvc.console.pages.reviews.entry import Reviewer, queue_address, reviewer_page
from evalsvc.console.parts.forms.fields import read_fields
from evalsvc.rest.problems import Invalid, NotFound, Problem
from evalsvc.reviews.answering.answers import answer_item, lease_item, skip_item, take_back
from evalsvc.reviews.answering.forms import item_form, parse_review_form
from evalsvc.reviews.models import ReviewAnswer
from evalsvc.reviews.selectors import find_answer, get_leased_item, get_review, review_progress

LATE = {"lease_lost": "late", "already_answered": "kept"}
NOTES = {
    "late": "Your time for that item ran out and someone else has it now. Here is the next one.",
    "kept": "You already answered that item; your answer is kept. Here is the next one.",
    "skipped": "Skipped. It stays open for others.",
}


@require_http_methods(["GET", "POST"])
@reviewer_page
def review_queue(request: HttpRequest, id: uuid.UUID, who: Reviewer) -> HttpResponse:
    """Show the next item of a review, or take the answer to one."""
    if request.method == "POST":
        return _act(request, id, who)
    # Opening the page leases an item; repeated requests return the same item.
    row = _find_answer_to_revise(request, id, who) or lease_item(account=who.account, review_id=id, reviewer=who.name)
    return _page(request, id, who, row)


def _find_answer_to_revise(request: HttpRequest, id: uuid.UUID, who: Reviewer) -> ReviewAnswer | None:
    """Return the reviewer's own answer that is to be revised."""
    item = request.GET.get("item", "")
    if not item.isdecimal() or len(item) > 18:
        return None
    review = get_review(account=who.account, id=id)
    if review.closed_at is not None:
        raise Problem(code="review_closed")
    return find_answer(account=who.account, review=review, reviewer=who.name, item_id=int(item))


def _page(
    request: HttpRequest,
    id: uuid.UUID,
    who: Reviewer,
    row: ReviewAnswer | None,
    typed: Mapping[str, str] | None = None,
    errors: tuple[str, ...] = (),
) -> HttpResponse:
    review = get_review(account=who.account, id=id) if row is None else row.review
    progress = review_progress(account=who.account, review=review, reviewer=who.name)
    context = {
        "review": review,
        "progress": progress,
        "n_mine": progress.n_own,
        "can_undo": progress.n_own + progress.n_own_skipped > 0,
        "form": None if row is None else item_form(who.account, row, typed),
        "errors": errors,
        "note": NOTES.get(request.GET.get("note", "")),
        "sees_console": who.sees_console,
    }
    is_part = request.headers.get("HX-Request") == "true"
    template = "console/reviews/item.html" if is_part else "console/reviews/queue.html"
    return render(request, template, context, status=422 if errors else 200)


def _act(request: HttpRequest, id: uuid.UUID, who: Reviewer) -> HttpResponse:
    values = read_fields(request)
    action = values.get("action", "answer")
    if action == "undo":
        row = take_back(account=who.account, review_id=id, reviewer=who.name)
        return _redirect_to_queue(id, item=str(row.item_id) if row is not None else "")
    item_id, token = _parse_lease(values)
    try:
        if action == "skip":
            skip_item(account=who.account, review_id=id, item_id=item_id, token=token)
            return _redirect_to_queue(id, note="skipped")
        review = get_review(account=who.account, id=id)
        response = parse_review_form(review, values)
        revise = "revise" in values
        answer_item(account=who.account, review_id=id, item_id=item_id, token=token, said=response, revise=revise)
    except Invalid as problem:
        return _render_again(request, id, who, (item_id, token), values, problem)
    except Problem as problem:
        if problem.code not in LATE:
            raise
        return _redirect_to_queue(id, note=LATE[problem.code])
    return _redirect_to_queue(id)


def _parse_lease(sent: Mapping[str, str]) -> tuple[int, uuid.UUID]:
    item = sent.get("item", "")
    try:
        token = uuid.UUID(sent.get("token", ""))
    except ValueError:
        raise NotFound from None
    if not item.isdecimal() or len(item) > 18:
        raise NotFound
    return int(item), token


def _render_again(
    request: HttpRequest,
    id: uuid.UUID,
    who: Reviewer,
    held: tuple[int, uuid.UUID],
    sent: Mapping[str, str],
    problem: Invalid,
) -> HttpResponse:
    item_id, token = held
    row = get_leased_item(account=who.account, review_id=id, reviewer=who.name, item_id=item_id, token=token)
    return _page(request, id, who, row, sent, tuple(error.detail for error in problem.errors))


def _redirect_to_queue(id: uuid.UUID, **query: str) -> HttpResponse:
    """Redirect to the next page with 303, so that going back or reloading submits nothing twice."""
    params = {name: value for name, value in query.items() if value}
    answer = redirect(queue_address(id) + (f"?{urlencode(params)}" if params else ""))
    answer.status_code = 303
    return cast(HttpResponse, answer)
