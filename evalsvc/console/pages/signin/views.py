"""Sign-in for all pages, including the admin: password, then a code for users with a second factor."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from kombu.exceptions import OperationalError

from evalsvc.accounts.access.signin import LockedOut
from evalsvc.accounts.signing_in import provider, steps
from evalsvc.accounts.signing_in.library import bind_allauth_request
from evalsvc.accounts.signing_in.mails import sends_mails
from evalsvc.accounts.tasks import record_sign_in_lock
from evalsvc.console.parts.addresses import safe_next

log = logging.getLogger(__name__)
WRONG = "Wrong email address or password, or the account is disabled."
WRONG_CODE = "Invalid code. Each code works once, for 30 seconds."


def anonymous_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a sign-in view: for anonymous users only, and never cached. Views answer 429 after too many attempts."""

    @bind_allauth_request
    @functools.wraps(view)
    @sensitive_post_parameters("password", "code", "again")
    @require_http_methods(["GET", "POST"])
    def answer(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if request.user.is_authenticated:
            response: HttpResponse = redirect(safe_next(request, reverse("console_start")))
        else:
            response = view(request, *args, **kwargs)
        add_never_cache_headers(response)
        return response

    return answer


@anonymous_page
def sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in with email address and password."""
    if request.method != "POST":
        return _sign_in_form(request)
    email, password = get_email(request), request.POST.get("password", "")
    try:
        user = steps.check_password(request, email=email, password=password)
    except LockedOut as locked:
        return add_retry_after(_sign_in_form(request, str(locked), status=429), locked)
    if user is None:
        return _sign_in_form(request, WRONG)
    return steps.begin(request, user, then=safe_next(request, reverse("console_start")))


@anonymous_page
def second_factor(request: HttpRequest) -> HttpResponse:
    """Check a code of the authenticator app, or a recovery code."""
    stage = steps.get_pending_stage(request)
    if stage is None:
        return redirect("account_login")
    if request.method != "POST":
        return _code_form(request)
    try:
        kind = steps.check_code(request, user=stage.login.user, code=request.POST.get("code", ""))
    except LockedOut as locked:
        return add_retry_after(_code_form(request, str(locked), status=429), locked)
    return steps.finish(request, stage, kind) if kind else _code_form(request, WRONG_CODE)


def get_email(request: HttpRequest) -> str:
    """Return the address of a form; PostgreSQL takes no text with a NUL in it."""
    return request.POST.get("username", "").replace("\0", "").strip()[:254]


def add_retry_after(response: HttpResponse, locked: LockedOut) -> HttpResponse:
    """Add Retry-After to a response. The first lockout of a sign-in is recorded in the audit trail by a worker."""
    if locked.is_new and locked.email:
        try:
            record_sign_in_lock.delay(locked.email, locked.address)
        except OperationalError:
            log.warning("sign-in lock not recorded in the audit trail: broker unavailable")
    response.headers["Retry-After"] = str(locked.seconds)
    return response


def _sign_in_form(request: HttpRequest, error: str = "", *, status: int = 200) -> HttpResponse:
    context = {
        "error": error,
        "email": request.POST.get("username", ""),
        "next": safe_next(request, ""),
        "sends_mails": sends_mails(),
        "provider": settings.OIDC_LABEL if provider.is_configured() else "",
    }
    return render(request, "console/signin/sign_in.html", context, status=status)


def _code_form(request: HttpRequest, error: str = "", *, status: int = 200) -> HttpResponse:
    return render(request, "console/signin/code.html", {"error": error}, status=status)
