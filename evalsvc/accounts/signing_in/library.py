"""Adapters for django-allauth: the stages of a sign-in, what follows it, and how secrets of factors are stored.

None of the library's own pages has a URL here: sign-up, the list of email addresses and the API are not available.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.stages import LoginStage
from allauth.core.context import request_context
from allauth.mfa.adapter import DefaultMFAAdapter
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from evalsvc.accounts.access.signin import caller_ip
from evalsvc.accounts.models import User
from evalsvc.accounts.signing_in.sessions import begin_session
from evalsvc.accounts.signing_in.trail import record_of_person
from evalsvc.infra.encryption import decrypt, encrypt

FACTOR_STAGE = "mfa_authenticate"


def bind_allauth_request(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Let a view call the library, which requires the current request. Its middleware would do so for every request."""

    @functools.wraps(view)
    def answer(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        request.allauth = SimpleNamespace()  # type: ignore[attr-defined]
        with request_context(request):
            return view(request, *args, **kwargs)

    return answer


class SecondFactorStage(LoginStage):
    """The stage after the password: the code, for people with a second factor. Only then does a session begin."""

    key = FACTOR_STAGE
    urlname = FACTOR_STAGE

    def handle(self) -> tuple[HttpResponse | None, bool]:
        """Redirect to the page for the code, or continue."""
        from evalsvc.accounts.signing_in.factors import has_factor

        return (redirect(FACTOR_STAGE) if has_factor(self.login.user) else None), True


class SignInAdapter(DefaultAccountAdapter):
    """Sign-in by e-mail and password, as this service does it."""

    def get_login_stages(self) -> list[str]:
        """Return the stages between password and session."""
        return [f"{__name__}.SecondFactorStage"]

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Refuse sign-up: people are added by operators or by the single sign-on provider."""
        return False

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        """Redirect an inactive person to the sign-in page."""
        return redirect("account_login")

    def post_login(self, request: HttpRequest, user: User, **facts: Any) -> HttpResponse:
        """Note the new session, write it into the trail, and lead on."""
        begin_session(request, user)
        steps = [record.get("type") or record["method"] for record in get_authentication_records(request, user)]
        record_of_person(user, "signin.succeeded", address=caller_ip(request), by=" + ".join(steps))
        return redirect(facts["redirect_url"] or reverse("console_start"))


class FactorAdapter(DefaultMFAAdapter):
    """Secrets of second factors are encrypted with ENCRYPTION_KEYS."""

    def encrypt(self, text: str) -> str:
        """Encrypt a secret as it is stored."""
        return encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return a stored secret."""
        return decrypt(encrypted_text.encode()).decode()

    def get_totp_issuer(self) -> str:
        """Name the service in the person's app. The Host header, which the library would take, is the caller's."""
        return "evalsvc"
