"""Password reset: request a link by email, and choose a new password with it."""

from __future__ import annotations

import logging

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from kombu.exceptions import OperationalError

from evalsvc.accounts.access.signin import LockedOut, caller_ip, reset_counters, take_attempt
from evalsvc.accounts.signing_in.mails import find_link_person, reset_password, sends_mails
from evalsvc.accounts.signing_in.passwords import password_faults
from evalsvc.accounts.tasks import send_reset_mail
from evalsvc.console.access import console_message
from evalsvc.console.pages.signin.views import add_retry_after, anonymous_page, get_email

log = logging.getLogger(__name__)
SENT = "If an account with that address uses a password, a link has been sent. It is valid for one hour."
OVER = "It was already used, has expired, or is incomplete."


@anonymous_page
def forgotten_password(request: HttpRequest) -> HttpResponse:
    """Send a reset link. The response is the same whether or not the address belongs to an account."""
    if not sends_mails():
        raise Http404
    if request.method != "POST":
        return render(request, "console/signin/forgotten.html")
    email = get_email(request)
    try:
        take_attempt(reset_counters(email, caller_ip(request)))
    except LockedOut as locked:
        answer = console_message(request, status=429, title="Too many reset emails requested", detail=str(locked))
        return add_retry_after(answer, locked)
    try:
        send_reset_mail.delay(email)
    except OperationalError:
        log.warning("reset mail not enqueued: broker unavailable")
    messages.success(request, SENT)
    return redirect("account_login")


@anonymous_page
def reset_by_link(request: HttpRequest, person: str, token: str) -> HttpResponse:
    """Set a new password for the owner of a reset link."""
    user = find_link_person(person, token)
    if user is None:
        return _opens_nothing(request)
    faults: list[str] = []
    if request.method == "POST":
        password = request.POST.get("password", "")
        faults = password_faults(user, password, request.POST.get("again", ""))
        if not faults and not reset_password(user=user, password=password):
            return _opens_nothing(request)
        if not faults:
            messages.success(request, "Password changed. All sessions have ended. Sign in with the new password.")
            return redirect("account_login")
    return render(request, "console/signin/reset.html", {"person": user, "faults": faults})


def _opens_nothing(request: HttpRequest) -> HttpResponse:
    way = ("console_forgotten", "Request a new one") if sends_mails() else ("account_login", "Sign in")
    return console_message(request, status=404, title="This link is not valid", detail=OVER, way=way)
