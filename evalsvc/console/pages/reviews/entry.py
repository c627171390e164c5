"""Access to a review: for members of its account, and for people with a review link."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from evalsvc.accounts.access.signin import caller_ip
from evalsvc.accounts.membership import Membership, get_memberships
from evalsvc.accounts.middleware import MEMBER_STATEMENT_TIMEOUT
from evalsvc.accounts.models import Account
from evalsvc.console.access import (
    PageError,
    get_membership,
    redirect_to_factor_setup,
    redirect_to_sign_in,
    refuse_unreadable,
)
from evalsvc.rest.problems import NotFound, Problem, as_problem
from evalsvc.reviews.links import LinkHolder, holder_of_cookie, holder_of_token, seal_holder
from evalsvc.reviews.selectors import get_review, has_review
from evalsvc.tenancy.scope import account_scope

COOKIE, SECURE_COOKIE = "review_link", "__Secure-review_link"
"""The second one where https is required: a browser takes it over https only. It is bound to a path, not to `/`."""
ReviewerView = Callable[[HttpRequest, uuid.UUID, "Reviewer"], HttpResponse]


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A person with access to a review, and the name under which their answers are stored."""

    account: Account
    name: str
    may_answer: bool = True
    sees_console: bool = False
    """Whether they can open the review in the console, which is for members."""


class SecondFactorRequired(Exception):
    """The review exists, but its account requires a second factor that the user has not set up yet."""

    def __init__(self, membership: Membership) -> None:
        self.membership = membership


def queue_address(id: uuid.UUID) -> str:
    """Return the address of a review's queue, which is also the path of the cookie of its links."""
    return reverse("console_review_queue", args=[id])


def get_reviewer(request: HttpRequest, id: uuid.UUID) -> Reviewer | None:
    """Return the reviewer behind a request, or None if the review is not accessible to them.

    Raises SecondFactorRequired for a member without a second factor if the account requires one.
    """
    cookie = _get_cookie(request)
    holder = holder_of_cookie(cookie, review_id=id) if cookie else None
    if holder is not None:
        return Reviewer(Account(pk=holder.account_id), holder.reviewer)
    if not request.user.is_authenticated:
        return None
    current = get_membership(request)
    # A link from a colleague works for a review in any of the user's accounts.
    for membership in _iterate_memberships(request, current):
        account = Account(pk=membership.account_id)
        with account_scope(account.pk):
            if has_review(account=account, id=id):
                if membership.lacks_factor:
                    raise SecondFactorRequired(membership)
                return Reviewer(account, f"user:{request.user.pk}", membership.may_edit, sees_console=True)
    return None


def reviewer_page(view: ReviewerView) -> Callable[[HttpRequest, uuid.UUID], HttpResponse]:
    """Decorate a view for reviewers, as `console_page` does for the console; it runs in a transaction of the account.

    Anonymous users without a link are redirected to the sign-in page. A review that is not accessible is a 404.
    """

    @functools.wraps(view)
    def answer(request: HttpRequest, id: uuid.UUID) -> HttpResponse:
        try:
            return add_privacy_headers(_answer(request, id, view))
        except SecondFactorRequired as first:
            return add_privacy_headers(redirect_to_factor_setup(request, first.membership))
        except PageError as error:
            return add_privacy_headers(queue_message(request, error.title, error.detail, error.status))
        except Exception as exc:
            problem = as_problem(exc)
            if problem is None:
                raise
            if isinstance(problem, NotFound):
                raise Http404 from None
            return add_privacy_headers(queue_refused(request, problem))

    return answer


def _answer(request: HttpRequest, id: uuid.UUID, view: ReviewerView) -> HttpResponse:
    who = get_reviewer(request, id)
    if who is None:
        if request.user.is_authenticated:
            raise Http404
        return redirect_to_sign_in(request)
    if not who.may_answer:
        raise PageError(403, "You may only look", "You have the reader role. Editors can answer.")
    refuse_unreadable(request)
    with account_scope(who.account.pk, statement_timeout=MEMBER_STATEMENT_TIMEOUT):
        return view(request, id, who)


def _iterate_memberships(request: HttpRequest, here: Membership | None) -> Iterator[Membership]:
    if here is not None:
        yield here
    yield from (
        membership
        for membership in get_memberships(request)
        if here is None or membership.account_id != here.account_id
    )


@require_safe
def redirect_old_address(request: HttpRequest, id: uuid.UUID) -> HttpResponse:
    """Redirect from the former address of the queue to the current one, with the cookie of a review link."""
    answer = redirect(queue_address(id))
    cookie = _get_cookie(request)
    try:
        holder = holder_of_cookie(cookie, review_id=id) if cookie else None
    except Problem as problem:
        return add_privacy_headers(queue_refused(request, problem))
    if holder is not None:
        _give_cookie(answer, holder)
    return add_privacy_headers(answer)


@require_http_methods(["GET", "POST"])
def enter_review(request: HttpRequest, id: uuid.UUID, token: str) -> HttpResponse:
    """Let the holder of a link in: its token becomes a cookie of this review's queue alone.

    By a press of a button, as programs that look into mails follow links. And a cookie that is `Strict` is not sent
    with the first page that is reached from elsewhere.
    """
    try:
        holder = holder_of_token(token, review_id=id, address=caller_ip(request))
    except Problem as problem:
        return add_privacy_headers(queue_refused(request, problem))
    if holder is None:
        message = "The link has expired or is invalid. Ask for a new one."
        return add_privacy_headers(queue_message(request, "This link is not valid", message, 404))
    if request.method == "GET":
        with account_scope(holder.account_id):
            review = get_review(account=Account(pk=holder.account_id), id=id)
        return add_privacy_headers(
            render(request, "console/reviews/enter.html", {"review": review, "name": holder.name})
        )
    answer = redirect(queue_address(id))
    answer.status_code = 303
    _give_cookie(answer, holder)
    return add_privacy_headers(answer)


def _get_cookie(request: HttpRequest) -> str | None:
    # Links that were opened before the prefix go on; what both hold is signed.
    secure = request.COOKIES.get(SECURE_COOKIE) if settings.SESSION_COOKIE_SECURE else None
    return secure or request.COOKIES.get(COOKIE)


def _give_cookie(answer: HttpResponse, holder: LinkHolder) -> None:
    answer.set_cookie(
        SECURE_COOKIE if settings.SESSION_COOKIE_SECURE else COOKIE,
        seal_holder(holder),
        max_age=int((holder.expires_at - timezone.now()).total_seconds()),
        path=queue_address(holder.review_id),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )


def queue_refused(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Write what a service has refused as a page for reviewers."""
    if problem.code == "review_closed":
        return queue_message(request, "This review is closed", "Thank you. It no longer accepts answers.", 410)
    response = queue_message(request, problem.row.title, problem.row.remedy, problem.row.status)
    for name, value in problem.headers.items():
        response.headers[name] = value
    return response


def queue_message(request: HttpRequest, title: str, detail: str, status: int) -> HttpResponse:
    """Write a message as a page for reviewers, who may know nothing of the console."""
    return render(request, "console/reviews/message.html", {"title": title, "detail": detail}, status=status)


def add_privacy_headers(answer: HttpResponse) -> HttpResponse:
    """Add headers that prevent caching and indexing, and that limit the Referer header to the origin."""
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["X-Robots-Tag"] = "noindex, nofollow"
    # The address of a link contains its token. `no-referrer` would also hide the origin that Django's CSRF check
    # requires.
    answer.headers["Referrer-Policy"] = "strict-origin"
    return answer
