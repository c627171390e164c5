"""/reviews/{id}: one item at a time, for members who are signed in, and for whoever came by a link."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from evalsvc.accounts.access.signin import caller_ip
from evalsvc.accounts.membership import memberships_of
from evalsvc.accounts.models import Account
from evalsvc.rest.problems import Invalid, NotFound, Problem
from evalsvc.reviews.answering import answer_item, lease_item, skip_item, take_back
from evalsvc.reviews.forms import item_form, said_in_form
from evalsvc.reviews.links import holder_of_cookie, holder_of_token, seal_holder
from evalsvc.reviews.models import Review, ReviewAnswer
from evalsvc.reviews.selectors import get_review, review_progress
from evalsvc.tenancy.scope import account_scope

COOKIE = "review_link"
LATE = {"lease_lost": "late", "already_answered": "kept"}
NOTES = {
    "late": "Your lease had ended, and somebody else has that item now. Here is the next one.",
    "kept": "That item had an answer of yours already; it stays. Here is the next one.",
    "skipped": "Passed over. It waits for somebody else.",
}


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Who looks at a review, by what right, and the name that their answers go by."""

    account: Account
    name: str
    may_answer: bool = True


@require_http_methods(["GET", "POST"])
def review_page(request: HttpRequest, id: uuid.UUID) -> HttpResponse:
    """Show the next item of a review, or take the answer to one."""
    try:
        who = _reviewer(request, id)
        if who is None:
            if request.user.is_authenticated:
                raise Http404
            return redirect(f"{reverse('admin:login')}?{urlencode({'next': request.path})}")
        if not who.may_answer:
            return _message(
                request, "You may only look", "Your role in this account is reader. An editor can answer.", 403
            )
        answer = _act(request, id, who) if request.method == "POST" else _show(request, id, who)
    except NotFound:
        raise Http404 from None
    except Problem as problem:
        answer = _refused(request, problem)
    return _private(answer)


@require_http_methods(["GET", "POST"])
def enter_review(request: HttpRequest, id: uuid.UUID, token: str) -> HttpResponse:
    """Let the holder of a link in: its token becomes a cookie of this review's pages alone.

    By a press of a button, as programs that look into mails follow links. And a cookie that is `Strict` is not sent
    with the first page that is reached from elsewhere.
    """
    try:
        holder = holder_of_token(token, review_id=id, address=caller_ip(request))
    except Problem as problem:
        return _private(_refused(request, problem))
    if holder is None:
        return _private(
            _message(request, "This link opens nothing", "It has ended, or was never one. Ask for another.", 404)
        )
    if request.method == "GET":
        with account_scope(holder.account_id):
            review = get_review(account=Account(pk=holder.account_id), id=id)
        return _private(render(request, "reviews/enter.html", {"review": review, "name": holder.name}))
    answer = redirect(reverse("review", args=[id]))
    answer.status_code = 303
    answer.set_cookie(
        COOKIE,
        seal_holder(holder),
        max_age=int((holder.expires_at - timezone.now()).total_seconds()),
        path=reverse("review", args=[id]),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
    return _private(answer)


def _reviewer(request: HttpRequest, id: uuid.UUID) -> Reviewer | None:
    cookie = request.COOKIES.get(COOKIE)
    holder = holder_of_cookie(cookie, review_id=id) if cookie else None
    if holder is not None:
        return Reviewer(Account(pk=holder.account_id), holder.reviewer)
    if not request.user.is_authenticated:
        return None
    for membership in memberships_of(request):
        account = Account(pk=membership.account_id)
        with account_scope(account.pk):
            if Review.objects.filter(account=account, pk=id).exists():
                return Reviewer(account, f"user:{request.user.pk}", membership.may_edit)
    return None


def _show(request: HttpRequest, id: uuid.UUID, who: Reviewer) -> HttpResponse:
    with account_scope(who.account.pk):
        # Looking gives out an item, as there is nothing else to look at; asked again it is the same one.
        row = _again(request, id, who) or lease_item(account=who.account, review_id=id, reviewer=who.name)
        return _page(request, id, who, row)


def _again(request: HttpRequest, id: uuid.UUID, who: Reviewer) -> ReviewAnswer | None:
    """Return the person's own answer that they want to change."""
    item = request.GET.get("item", "")
    if not item.isdecimal() or len(item) > 18:
        return None
    review = get_review(account=who.account, id=id)
    if review.closed_at is not None:
        raise Problem(code="review_closed")
    rows = ReviewAnswer.objects.filter(account=who.account, review=review, item_id=int(item), reviewer=who.name)
    return rows.filter(said__isnull=False).select_related("item", "review").first()


def _page(
    request: HttpRequest,
    id: uuid.UUID,
    who: Reviewer,
    row: ReviewAnswer | None,
    typed: Mapping[str, str] | None = None,
    errors: tuple[str, ...] = (),
) -> HttpResponse:
    review = get_review(account=who.account, id=id)
    mine = ReviewAnswer.objects.filter(account=who.account, review=review, reviewer=who.name, answered_at__isnull=False)
    context = {
        "review": review,
        "progress": review_progress(account=who.account, review=review),
        "n_mine": mine.filter(said__isnull=False).count(),
        "can_undo": mine.exists(),
        "form": None if row is None else item_form(who.account, row, typed),
        "errors": errors,
        "note": NOTES.get(request.GET.get("note", "")),
    }
    return render(request, "reviews/item.html", context, status=422 if errors else 200)


def _act(request: HttpRequest, id: uuid.UUID, who: Reviewer) -> HttpResponse:
    sent = {name: value for name, value in request.POST.items() if isinstance(value, str)}
    action = sent.get("action", "answer")
    if action == "undo":
        row = take_back(account=who.account, review_id=id, reviewer=who.name)
        return _onwards(id, item=str(row.item_id) if row is not None else "")
    item_id, token = _held(sent)
    try:
        if action == "skip":
            skip_item(account=who.account, review_id=id, item_id=item_id, token=token)
            return _onwards(id, note="skipped")
        with account_scope(who.account.pk):
            review = get_review(account=who.account, id=id)
        said = said_in_form(review, sent)
        revise = "revise" in sent
        answer_item(account=who.account, review_id=id, item_id=item_id, token=token, said=said, revise=revise)
    except Invalid as problem:
        return _shown_again(request, id, who, (item_id, token), sent, problem)
    except Problem as problem:
        if problem.code not in LATE:
            raise
        return _onwards(id, note=LATE[problem.code])
    return _onwards(id)


def _held(sent: Mapping[str, str]) -> tuple[int, uuid.UUID]:
    item = sent.get("item", "")
    try:
        token = uuid.UUID(sent.get("token", ""))
    except ValueError:
        raise NotFound from None
    if not item.isdecimal() or len(item) > 18:
        raise NotFound
    return int(item), token


def _shown_again(
    request: HttpRequest,
    id: uuid.UUID,
    who: Reviewer,
    held: tuple[int, uuid.UUID],
    sent: Mapping[str, str],
    problem: Invalid,
) -> HttpResponse:
    item_id, token = held
    with account_scope(who.account.pk):
        rows = ReviewAnswer.objects.filter(account=who.account, review_id=id, item_id=item_id, token=token)
        row = rows.filter(reviewer=who.name).select_related("item", "review").first()
        if row is None:
            raise NotFound
        return _page(request, id, who, row, sent, tuple(error.detail for error in problem.errors))


def _onwards(id: uuid.UUID, **query: str) -> HttpResponse:
    """Lead to the next page, so that going back or reloading sends nothing twice."""
    asked = {name: value for name, value in query.items() if value}
    answer = redirect(reverse("review", args=[id]) + (f"?{urlencode(asked)}" if asked else ""))
    answer.status_code = 303
    return answer


def _refused(request: HttpRequest, problem: Problem) -> HttpResponse:
    if problem.code == "review_closed":
        return _message(request, "This review is closed", "Thank you. Nobody can answer it any more.", 410)
    return _message(request, problem.row.title, problem.row.remedy, problem.row.status)


def _message(request: HttpRequest, title: str, detail: str, status: int) -> HttpResponse:
    return render(request, "reviews/message.html", {"title": title, "detail": detail}, status=status)


def _private(answer: HttpResponse) -> HttpResponse:
    """Keep a page out of caches and search engines, and its address out of what the browser tells others."""
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["X-Robots-Tag"] = "noindex, nofollow"
    # The address of a link holds its token. `no-referrer` would also hide the origin that Django's CSRF check asks for.
    answer.headers["Referrer-Policy"] = "strict-origin"
    return answer
