"""Shared parts of the pages about the signed-in user.

They work without an account, and changes require a proof of identity.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.cache import add_never_cache_headers
from django.views.decorators.debug import sensitive_post_parameters

from evalsvc.accounts.access.signin import LockedOut
from evalsvc.accounts.models import User
from evalsvc.accounts.signing_in.factors import has_factor
from evalsvc.accounts.signing_in.library import bind_allauth_request
from evalsvc.accounts.signing_in.steps import verify_identity
from evalsvc.console.access import READER, PageError, console_message, console_page, get_membership, redirect_to_sign_in
from evalsvc.console.pages.signin.views import add_retry_after

View = Callable[..., HttpResponse]
NOT_PROVEN = "Nothing was changed: wrong password or code."


class NotProven(Exception):
    """The password, or the code, was wrong."""


def personal_page(view: View) -> View:
    """Decorate a view about the signed-in user; it gets the console layout if the user has an account."""
    in_console = console_page(write=READER, scoped=False)(view)

    @bind_allauth_request
    @functools.wraps(view)
    @sensitive_post_parameters()
    def answer(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_sign_in(request)
        try:
            membership = get_membership(request)
            # An account that requires a second factor opens no page of the console without it, but this page sets it
            # up.
            answer_view = in_console if membership and not membership.lacks_factor else view
            response = answer_view(request, *args, **kwargs)
        except NotProven:
            messages.error(request, NOT_PROVEN)
            response = redirect("console_you")
        except PageError as error:
            response = console_message(request, status=error.status, title=error.title, detail=error.detail)
        except LockedOut as locked:
            response = console_message(request, status=429, title="Too many failed attempts", detail=str(locked))
            response = add_retry_after(response, locked)
        add_never_cache_headers(response)
        return response

    return answer


def get_person(request: HttpRequest) -> User:
    """Return who is signed in."""
    assert isinstance(request.user, User)  # noqa: S101  the decorator has led everybody else to the door
    return request.user


def proof_label(user: User) -> str:
    """Return the label of the required proof:

    the password, or a code for users without one; empty if the user has neither.
    """
    if user.has_usable_password():
        return "Your password"
    return "Code from your app" if has_factor(user) else ""


def require_proof(request: HttpRequest) -> None:
    """Verify that the user is present, not someone else at an open browser. Raises NotProven or LockedOut."""
    proof = request.POST.get("proof", "")
    if not verify_identity(request, get_person(request), password=proof, code=proof):
        raise NotProven
