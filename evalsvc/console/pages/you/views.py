"""The person's page: how they sign in, and where they are signed in."""

from __future__ import annotations

from datetime import datetime

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from evalsvc.accounts.membership import has_provider_vouched
from evalsvc.accounts.signing_in.factors import get_factor
from evalsvc.accounts.signing_in.passwords import change_password, password_faults
from evalsvc.accounts.signing_in.rule import accounts_that_require
from evalsvc.accounts.signing_in.sessions import PersonSession, end_session, end_sessions, list_sessions
from evalsvc.accounts.signing_in.trail import record_of_person
from evalsvc.console.pages.you.browsers import browser_name
from evalsvc.console.pages.you.personal import NotProven, get_person, personal_page, proof_label, require_proof
from evalsvc.console.parts.moments import time_tag


@require_safe
@personal_page
def you(request: HttpRequest) -> HttpResponse:
    """Show all of it."""
    user = get_person(request)
    now = timezone.now()
    sessions = list_sessions(user=user, current=request.session.session_key)
    context = {
        "person": user,
        "factor": get_factor(user),
        "asking": accounts_that_require(user=user, is_vouched=has_provider_vouched(request)),
        "sessions": [_format_session(session, now) for session in sessions],
        "has_others": any(not session.is_this for session in sessions),
        "proof": proof_label(user),
    }
    return render(request, "console/you/you.html", context)


@require_POST
@personal_page
def new_password(request: HttpRequest) -> HttpResponse:
    """Change the password; all other sessions end."""
    user = get_person(request)
    require_proof(request)
    faults = password_faults(user, request.POST.get("password", ""), request.POST.get("again", ""))
    if faults:
        messages.error(request, f"The password stays as it is. {' '.join(faults)}")
    elif not change_password(request, user=user, password=request.POST["password"]):
        raise NotProven
    else:
        messages.success(request, "Password changed. Your other sessions have ended.")
    return redirect("console_you")


@require_POST
@personal_page
def end_one_session(request: HttpRequest, id: int) -> HttpResponse:
    """End another session of the person."""
    user = get_person(request)
    if not end_session(user=user, id=id):
        raise Http404
    record_of_person(user, "session.ended")
    messages.success(request, "Session ended.")
    return redirect(f"{reverse('console_you')}#sessions")


@require_POST
@personal_page
def end_other_sessions(request: HttpRequest) -> HttpResponse:
    """End all sessions of the person but this one."""
    user = get_person(request)
    n = end_sessions(user=user, but=request.session.session_key)
    record_of_person(user, "sessions.ended", n=n)
    messages.success(request, f"{n} other session{'s have' if n != 1 else ' has'} ended.")
    return redirect(f"{reverse('console_you')}#sessions")


def _format_session(one: PersonSession, now: datetime) -> dict[str, object]:
    return {
        "id": one.id,
        "began": time_tag(one.began_at, now),
        "seen": time_tag(one.seen_at, now),
        "address": one.address,
        "browser": browser_name(one.browser),
        "agent": one.browser,
        "is_this": one.is_this,
    }
