"""Restrict the pages of a signed-in person to the rows that they may see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.auth.middleware import get_user
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.http import urlencode

from evalsvc.accounts.access.session_store import take_session_person
from evalsvc.accounts.membership import CURRENT, Membership, get_current_membership
from evalsvc.accounts.models import User
from evalsvc.accounts.signing_in.sessions import note_session
from evalsvc.rest.edge.middleware import PageAuthenticationMiddleware
from evalsvc.rest.edge.policy import ADMIN_PREFIX
from evalsvc.rest.problems import Problem, as_problem
from evalsvc.tenancy.scope import APP, SYSTEM, account_scope, role_scope

# What a person without an account may still do.
OPEN_PAGES = ("admin:login", "admin:logout", "admin:password_change", "admin:jsi18n")
ACCOUNT_FIELD = "_account"
# A filter that matches little would otherwise read a whole account's evaluations.
MEMBER_STATEMENT_TIMEOUT = "15s"
FACTOR_FIRST = "A second factor first"
FACTOR_DETAIL = (
    "{} asks its members for a second factor, and you have none yet. Nothing was saved. Set one up under You."
)
# The problems' own remedies speak to the holder of a key.
DETAILS = {
    403: "Your role in this account does not allow it. An admin of the account can do it, or the operator.",
    404: "Check the address. What belongs to another account does not exist for you.",
}


class PersonMiddleware(PageAuthenticationMiddleware):
    """Signed-in people, read with their session, and the note that it is used."""

    def process_request(self, request: HttpRequest) -> None:
        """Set `request.user` lazily."""
        super().process_request(request)
        request.user = SimpleLazyObject(lambda: get_signed_in_person(request))  # type: ignore[assignment]

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Track the session if the page has used `request.user`; files and anonymous responses cost nothing."""
        if "_cached_user" in request.__dict__ and isinstance(request.user, User):
            note_session(request, request.user)
        return response


def get_signed_in_person(request: HttpRequest) -> Any:
    """Return the person read with the session, else the one Django finds; AnonymousUser if they may not sign in."""
    if "_cached_user" not in request.__dict__:
        person = take_session_person(request.session) or get_user(request)
        may_sign_in = isinstance(person, User) and person.is_staff
        request.__dict__["_cached_user"] = person if may_sign_in else AnonymousUser()
    return request.__dict__["_cached_user"]


class MemberScopeMiddleware:
    """Run an admin page as the operator's system role, or inside the member's account: the database enforces either."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request in the scope of the signed-in person."""
        if not request.path.startswith(ADMIN_PREFIX) or not request.user.is_authenticated:
            return self.get_response(request)
        if request.user.is_superuser:
            with role_scope(SYSTEM):
                return render_response(self.get_response(request))
        membership = get_current_membership(request)
        if membership is None:
            return self.answer_without_account(request)
        if membership.lacks_factor and request.path not in map(reverse, OPEN_PAGES):
            return answer_without_factor(request, membership)
        if request.POST.get(ACCOUNT_FIELD, str(membership.account_id)) != str(membership.account_id):
            return refuse_stale_form(request, membership)
        token = CURRENT.set(membership)
        try:
            return self.answer_member(request, membership)
        finally:
            CURRENT.reset(token)

    def answer_member(self, request: HttpRequest, membership: Membership) -> HttpResponse:
        """Answer inside the account's transaction; what a failed page has written is rolled back."""
        with account_scope(membership.account_id, statement_timeout=MEMBER_STATEMENT_TIMEOUT):
            response = render_response(self.get_response(request))
            if response.status_code >= 400:
                transaction.set_rollback(True, using=APP)
            return response

    def answer_without_account(self, request: HttpRequest) -> HttpResponse:
        """Answer a person without an account: they can sign out or change their password, and see no data."""
        if request.path in map(reverse, OPEN_PAGES):
            return self.get_response(request)
        return message_page(
            request,
            status=403,
            title="You belong to no account that you may use",
            detail="An operator has to let you into an account first, or to switch yours on again. Until then there is"
            " nothing to see here.",
        )

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Show people a page where the API would answer with a problem; bugs stay bugs."""
        if not request.path.startswith(ADMIN_PREFIX):
            return None
        problem = as_problem(exception)
        if problem is None:
            return None
        return problem_page(request, problem)


def problem_page(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Write a problem as a page. Missing and foreign rows get the same one."""
    detail = DETAILS.get(problem.row.status, f"{problem.detail} {problem.row.remedy}")
    return message_page(request, status=problem.row.status, title=problem.row.title, detail=detail)


def answer_without_factor(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Redirect to second factor setup; refuse a POST with a message, because a redirect would lose its data."""
    if request.method == "POST":
        return message_page(
            request, status=403, title=FACTOR_FIRST, detail=FACTOR_DETAIL.format(membership.account_name)
        )
    return redirect(factor_address(request))


def factor_address(request: HttpRequest) -> str:
    """Return the URL of second factor setup, with the current page as `next`."""
    return f"{reverse('console_you_factor')}?{urlencode({'next': request.get_full_path()})}"


def refuse_stale_form(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Refuse a form that was opened in another account: it would write where its reader did not look."""
    return message_page(
        request,
        status=409,
        title="Nothing was saved",
        detail=f"This form belongs to another account; you have switched to {membership.account_name}. "
        "Switch back or reopen the form.",
    )


def message_page(request: HttpRequest, *, status: int, title: str, detail: str) -> HttpResponse:
    """Render a page with only a message and links."""
    context = {**admin.site.bare_context(request), "title": title, "detail": detail}  # type: ignore[attr-defined]
    return render(request, "accounts/message.html", context, status=status)


def render_response(response: HttpResponse) -> HttpResponse:
    """Render a lazy page now, while its scope is open."""
    render_now = getattr(response, "render", None)
    return render_now() if callable(render_now) else response
