"""Who looks at a page of the console, in which account, and what their role lets them do there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.http import urlencode

from evalsvc.accounts.membership import CURRENT, Membership, get_current_membership, operated_account
from evalsvc.accounts.middleware import (
    ACCOUNT_FIELD,
    DETAILS,
    FACTOR_DETAIL,
    FACTOR_FIRST,
    MEMBER_STATEMENT_TIMEOUT,
    factor_address,
)
from evalsvc.accounts.models import Account, Member
from evalsvc.accounts.selectors import read_account
from evalsvc.console.once import run_once
from evalsvc.console.parts.addresses import home_address
from evalsvc.rest.edge.door import set_account
from evalsvc.rest.edge.slow_turns import leave_turn, take_turn
from evalsvc.rest.problems import NotFound, Problem, as_problem
from evalsvc.tenancy.scope import APP, account_scope

SESSION_ENDED = "Your session has expired and nothing was saved. Sign in and submit the form again."
READER, EDITOR, ADMIN = Member.Role.READER, Member.Role.EDITOR, Member.Role.ADMIN
View = Callable[..., HttpResponse]


@dataclass(frozen=True, slots=True)
class Visitor:
    """A signed-in person, and the account that they look at."""

    user: Any
    membership: Membership
    account: Account
    is_operator: bool
    after: list[Callable[[], object]] = field(default_factory=list)
    """What is called once the page's transaction is committed: services cannot enqueue, pages do."""
    now: datetime = field(default_factory=timezone.now)

    @property
    def actor(self) -> str:
        """How the audit trail names the person."""
        return f"user:{self.user.pk}"

    @property
    def role(self) -> str:
        """What the person is here, in a word."""
        return "operator" if self.is_operator else self.membership.role

    @property
    def may_edit(self) -> bool:
        """Whether the forms that make and change things are shown."""
        return self.membership.may_edit

    @property
    def may_administer(self) -> bool:
        """Whether keys, members and limits are theirs to change."""
        return self.membership.may_administer


class PageRequest(HttpRequest):
    """A request with its visitor, as every view below `console_page` receives it."""

    visitor: Visitor


class PageError(Exception):
    """An error page: its status, title and detail."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        self.status, self.title, self.detail = status, title, detail


def console_page(
    *,
    role: Member.Role = READER,
    write: Member.Role = EDITOR,
    scoped: bool = True,
    once: str = "",
    known: Callable[..., HttpResponse | None] | None = None,
) -> Callable[[View], Callable[..., HttpResponse]]:
    """Make a view a page of the console for signed-in members, run in a transaction of the account.

    The account is the one in the address. Pages about the person have none there; they show the account chosen in the
    session.

    `role` is required to view the page and `write` to submit a form. A slow view passes `scoped=False` and opens short
    transactions of its own with `account_scope(visitor.account.pk)`. With `once`, a form that creates something is
    processed once, even if it is submitted again; `once` is the message for the second submission (`SENT_TWICE`).
    Errors raised by services are rendered as pages; missing and foreign rows get the same 404. Calls to make after the
    commit go into `visitor.after`. `known` can answer from memory what readers are allowed to see, given the membership
    alone; if it returns None, the view is called.
    """

    def decorate(view: View) -> Callable[..., HttpResponse]:
        @functools.wraps(view)
        def answer(request: PageRequest, *args: object, account: int | None = None, **kwargs: object) -> HttpResponse:
            if not request.user.is_authenticated:
                response: HttpResponse = redirect_to_sign_in(request)
            else:
                bound = functools.partial(view, request, *args, **kwargs)
                if once:
                    bound = functools.partial(run_once, request, bound, once)
                quick = functools.partial(known, request, *args, **kwargs) if known else None
                at_least = write if request.method == "POST" else role
                response = _answer(request, account, bound, at_least, scoped, quick)
            add_never_cache_headers(response)
            return response

        answer.once = once  # type: ignore[attr-defined]
        return answer

    return decorate


def redirect_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect to the sign-in page, and from there back to the requested page.

    The browser stores what was typed in a form (`console.js`) and restores it after sign-in.
    """
    if request.method == "POST":
        messages.warning(request, SESSION_ENDED)
    return redirect(f"{reverse('account_login')}?{urlencode({'next': request.get_full_path()})}")


def redirect_to_account_choice(request: HttpRequest) -> HttpResponse:
    """Redirect to the choice of an account, and from there back to the requested page."""
    query = urlencode({"next": request.get_full_path()})
    return redirect(f"{reverse('console_accounts')}?{query}")


def get_membership(request: HttpRequest, account_id: int | None = None) -> Membership | None:
    """Return the person's role in an account, by default the chosen one; an operator may do everything in any."""
    find = operated_account if request.user.is_superuser else get_current_membership
    return find(request, account_id)


def _answer(
    request: PageRequest,
    account_id: int | None,
    view: Callable[[], HttpResponse],
    role: Member.Role,
    scoped: bool,
    known: Callable[[Membership], HttpResponse | None] | None,
) -> HttpResponse:
    membership = get_membership(request, account_id)
    if membership is None:
        is_foreign = account_id is not None and get_membership(request) is not None
        return console_problem(request, NotFound()) if is_foreign else redirect_to_account_choice(request)
    if membership.lacks_factor:
        return redirect_to_factor_setup(request, membership)
    if known is not None and (answer := known(membership)) is not None:
        return answer
    token = CURRENT.set(membership)
    try:
        return _call_view(request, membership, view, role, scoped)
    except PageError as page_error:
        return console_message(request, status=page_error.status, title=page_error.title, detail=page_error.detail)
    except Exception as exc:
        problem = NotFound() if isinstance(exc, Http404) else as_problem(exc)
        if problem is None:
            raise
        return console_problem(request, problem)
    finally:
        CURRENT.reset(token)


def redirect_to_factor_setup(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Redirect a member to the setup of the second factor that the account requires.

    Forms are rejected instead, because a redirect would lose their contents. So are requests for a part of a page;
    their `HX-Redirect` header makes the browser load the setup page.
    """
    is_part = request.headers.get("HX-Request") == "true"
    if request.method in ("GET", "HEAD") and not is_part:
        return redirect(factor_address(request))
    detail = FACTOR_DETAIL.format(membership.account_name)
    way = ("console_you_factor", "Set one up")
    answer = console_message(request, status=403, title=FACTOR_FIRST, detail=detail, way=way)
    if is_part:
        answer.headers["HX-Redirect"] = reverse("console_you_factor")
    return answer


def _call_view(
    request: PageRequest, membership: Membership, view: Callable[[], HttpResponse], role: Member.Role, scoped: bool
) -> HttpResponse:
    set_account(membership.account_id)
    take_turn(membership.account_id, f"{request.method} {view_name(request)}")
    with account_scope(membership.account_id, statement_timeout=MEMBER_STATEMENT_TIMEOUT):
        account = read_account(id=membership.account_id)
        request.visitor = Visitor(request.user, membership, account, bool(request.user.is_superuser))
        _check(request, role)
        response = view() if scoped else None
        if response is not None and response.status_code >= 400:
            transaction.set_rollback(True, using=APP)
    if response is None:
        response = view()
    if response.streaming:
        leave_turn()
    if response.status_code < 400:
        for call in request.visitor.after:
            call()
    return response


def view_name(request: HttpRequest) -> str:
    """Return the name of the page's address."""
    return request.resolver_match.view_name if request.resolver_match else ""


def _check(request: PageRequest, role: Member.Role) -> None:
    membership = request.visitor.membership
    if not membership.is_at_least(role):
        raise PageError(403, "You don't have permission", DETAILS[403])
    refuse_unreadable(request)
    if request.POST.get(ACCOUNT_FIELD, str(membership.account_id)) != str(membership.account_id):
        raise PageError(
            409,
            "Nothing was saved",
            f"This form belongs to another account; you have switched to {membership.account_name}. "
            "Switch back or reopen the form.",
        )


def refuse_unreadable(request: HttpRequest) -> None:
    """Raise PageError for an address or a form that no column of text takes."""
    if any("\0" in value for data in (request.GET, request.POST) for values in data.lists() for value in values[1]):
        # PostgreSQL takes no text with one, and no browser's field does.
        raise PageError(400, "Invalid request", "It contains a NUL character, which is not allowed.")


def console_problem(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Write a problem as a page. Missing and foreign rows get the same one."""
    detail = DETAILS.get(problem.row.status, f"{problem.detail} {problem.row.remedy}")
    response = console_message(request, status=problem.row.status, title=problem.row.title, detail=detail)
    for name, value in problem.headers.items():
        response.headers[name] = value
    return response


def console_message(
    request: HttpRequest, *, status: int, title: str, detail: str, way: tuple[str, str] | None = None
) -> HttpResponse:
    """Render a page with a message and a link onward, given as the name of a URL and the link's text."""
    address, words = (reverse(way[0]), way[1]) if way else (home_address(), "Go to Home")
    context = {"title": title, "detail": detail, "way": address, "words": words}
    return render(request, "console/message.html", context, status=status)
