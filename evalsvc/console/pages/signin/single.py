"""Single sign-on: to the provider, and back from it."""

from __future__ import annotations

import logging

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from evalsvc.accounts.access.signin import LockedOut, caller_ip, clear_failures, provider_counters, take_attempt
from evalsvc.accounts.signing_in.provider import (
    ProviderRefused,
    go_to_provider,
    handle_callback,
    is_configured,
    vouches_for_factor,
)
from evalsvc.accounts.signing_in.roles import admit
from evalsvc.accounts.signing_in.steps import begin_from_provider
from evalsvc.console.access import console_message
from evalsvc.console.pages.signin.views import add_retry_after, anonymous_page
from evalsvc.console.parts.addresses import safe_next

log = logging.getLogger(__name__)


@anonymous_page
def redirect_to_provider(request: HttpRequest) -> HttpResponse:
    """Redirect to the provider.

    This is a link, not a form, because browsers apply `form-action 'self'` to the redirects of a form. GET is safe
    here: the sign-in that it starts must be completed in the same browser.
    """
    if not is_configured():
        raise Http404
    try:
        take_attempt(provider_counters(caller_ip(request)))
        return go_to_provider(request, then=safe_next(request, reverse("console_start")))
    except LockedOut as locked:
        answer = console_message(request, status=429, title="Too many sign-in attempts", detail=str(locked))
        return add_retry_after(answer, locked)
    except ProviderRefused as error:
        return _render_refusal(request, error)


@anonymous_page
def handle_provider_callback(request: HttpRequest) -> HttpResponse:
    """Handle the provider's response, and sign in the user that it names."""
    if not is_configured():
        raise Http404
    try:
        claims, then = handle_callback(request)
        user, then = admit(claims), then or reverse("console_start")
        clear_failures(provider_counters(caller_ip(request)))
        return begin_from_provider(request, user, then=then, is_vouched=vouches_for_factor(claims))
    except ProviderRefused as error:
        return _render_refusal(request, error)


def _render_refusal(request: HttpRequest, refused: ProviderRefused) -> HttpResponse:
    log.warning("single sign-on refused: %s (%s)", refused, type(refused.__cause__).__name__)
    return console_message(request, status=403, title="You are not signed in", detail=str(refused))
