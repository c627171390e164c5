"""The steps of a sign-in: the password, then the code for people with a second factor, then a session.

The state between two steps is stored in an anonymous session, for ten minutes at most.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from allauth.account.internal.flows.login import (
    get_authentication_records,
    perform_login,
    perform_password_login,
    record_authentication,
)
from allauth.account.models import Login
from allauth.account.stages import LoginStage, LoginStageController
from django.conf import settings
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from evalsvc.accounts.access.signin import (
    LockedOut,
    caller_ip,
    clear_failures,
    code_counters,
    lockout_counters,
    take_attempt,
)
from evalsvc.accounts.membership import VOUCHED_KEY
from evalsvc.accounts.models import User
from evalsvc.accounts.signing_in.factors import has_factor, take_code
from evalsvc.accounts.signing_in.library import FACTOR_STAGE

Found = TypeVar("Found")
PROVEN = "proven"
"""Which password, as a digest, a sign-in that waits for a code has begun with."""
RECENT_SECONDS = 600
"""Whoever has neither a password nor a second factor here proves themselves by a sign-in that is no older."""


def check_password(request: HttpRequest, *, email: str, password: str) -> User | None:
    """Return the person with this email address and password, or None. Raises LockedOut.

    An unknown address, an inactive person and a wrong password take equally long and look the same.
    """

    def authenticate_staff() -> User | None:
        user = authenticate(request, username=email, password=password)
        return user if isinstance(user, User) and user.is_staff else None

    return _attempt(request, email, lockout_counters(email, caller_ip(request)), authenticate_staff)


def check_code(request: HttpRequest, *, user: User, code: str) -> str | None:
    """Use a code of the second factor up and return its kind; None for a wrong one. Raises LockedOut."""
    counters = code_counters(user.pk, caller_ip(request))
    return _attempt(request, user.email, counters, lambda: take_code(user=user, code=code))


def _attempt(
    request: HttpRequest, email: str, counters: dict[str, int], check: Callable[[], Found | None]
) -> Found | None:
    try:
        take_attempt(counters)
    except LockedOut as locked:
        locked.email, locked.address = email, caller_ip(request)
        raise
    result = check()
    if result is not None:
        clear_failures(counters)
    return result


def begin(request: HttpRequest, user: User, *, then: str) -> HttpResponse:
    """Go on from the right password: to the code, or into the service and on to the page `then`."""
    return perform_password_login(request, {"email": user.email}, _build_login(user, then))


def begin_from_provider(request: HttpRequest, user: User, *, then: str, is_vouched: bool) -> HttpResponse:
    """Continue from the provider's response, as `begin` does: a second factor set up here is required as well.

    With `is_vouched` the provider has verified one, which satisfies accounts that require a second factor.
    """
    request.session.set_expiry(settings.OIDC_SESSION_HOURS * 3600)
    request.session[VOUCHED_KEY] = user.pk if is_vouched else None
    record_authentication(request, user, method="provider")
    response: HttpResponse = perform_login(request, _build_login(user, then))
    return response


def _build_login(user: User, then: str) -> Login:
    return Login(user=user, redirect_url=then, email=user.email, state={PROVEN: user.get_session_auth_hash()})


def get_pending_stage(request: HttpRequest) -> LoginStage | None:
    """Return the sign-in of this browser that waits for a code, unless what it has proven is over by now.

    A new password ends it, as it ends sessions; so does being switched off.
    """
    stage = LoginStageController.enter(request, FACTOR_STAGE)
    user = stage.login.user if stage is not None else None
    if stage is None or not isinstance(user, User) or not user.is_active or not user.is_staff:
        return None
    is_same = constant_time_compare(stage.login.state.get(PROVEN, ""), user.get_session_auth_hash())
    return stage if is_same else None


def finish(request: HttpRequest, stage: LoginStage, kind: str) -> HttpResponse:
    """Complete the sign-in after a valid code."""
    record_authentication(request, stage.login.user, method="mfa", type=kind)
    response: HttpResponse = stage.exit()
    return response


def verify_identity(request: HttpRequest, user: User, *, password: str, code: str) -> bool:
    """Return whether the signed-in person has proven their identity, before they change how they sign in.

    By the password; without one by a code; without either by a recent sign-in. Raises LockedOut.
    """
    if user.has_usable_password():
        return check_password(request, email=user.email, password=password) is not None
    if has_factor(user):
        return check_code(request, user=user, code=code) is not None
    began = [record["at"] for record in get_authentication_records(request, user)]
    return bool(began) and timezone.now().timestamp() - max(began) < RECENT_SECONDS
