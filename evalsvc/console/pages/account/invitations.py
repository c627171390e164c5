"""Invitations: an admin creates and withdraws them, and their links let people join."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_http_methods, require_POST

from evalsvc.accounts.access.signin import caller_ip
from evalsvc.accounts.invitations import (
    PendingInvitation,
    accept_as_new,
    accept_invitation,
    find_invitation,
    has_sign_in,
    invite,
    withdraw_invitation,
)
from evalsvc.accounts.membership import SESSION_KEY
from evalsvc.accounts.models import Member
from evalsvc.accounts.signing_in.library import bind_allauth_request
from evalsvc.accounts.signing_in.steps import begin
from evalsvc.console.access import (
    ADMIN,
    PageRequest,
    console_message,
    console_page,
    console_problem,
    redirect_to_sign_in,
)
from evalsvc.console.once import OneTimeSecretResponse, format_once_message
from evalsvc.console.pages.account.members import ROLES
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.forms.fields import FormField, errors_at, populate_fields
from evalsvc.rest.basics.links import link_for_others
from evalsvc.rest.problems import Invalid, NotFound, Problem

ENDS = (("1", "in a day"), ("7", "in a week"), ("30", "in 30 days"))
DEFAULT_END = "7"
LINK_ONCE = format_once_message("The link", "If nobody copied it, invite the person again; the old link stops working.")
OVER = "It was accepted, withdrawn or has expired, or the link is incomplete. Ask for a new one."


@require_http_methods(["GET", "POST"])
@console_page(role=ADMIN, write=ADMIN, once=LINK_ONCE)
def invite_page(request: PageRequest) -> HttpResponse:
    """Show the invitation form; the response to it is the only page that displays the link."""
    errors: dict[str, str] = {}
    if request.method == "POST":
        try:
            return _create_invitation(request)
        except Invalid as exc:
            errors = errors_at(exc)
    context = {"fields": _fields(request.POST, errors)}
    return render(request, "console/account/invite.html", context, status=422 if errors else 200)


def _create_invitation(request: PageRequest) -> HttpResponse:
    visitor, data = request.visitor, request.POST
    role, days = data.get("role", ""), data.get("ends", "")
    invitation, token = invite(
        account=visitor.account,
        email=data.get("email", ""),
        role=Member.Role(role) if role in Member.Role.values else Member.Role.READER,
        expires_at=visitor.now + timedelta(days=int(days if days in dict(ENDS) else DEFAULT_END)),
        actor=visitor.actor,
    )
    link = link_for_others(request, reverse("console_invitation", args=[token]))
    context = {"invitation": invitation, "link": link}
    return OneTimeSecretResponse(
        request, "console/account/invited.html", context, lands_at=page_address("console_members")
    )


def _fields(sent: Mapping[str, str], errors: Mapping[str, str]) -> list[FormField]:
    fields = (
        FormField("email", "E-mail address", "email"),
        FormField("role", "As", "select", Member.Role.READER, ROLES),
        FormField("ends", "The link ends", "select", DEFAULT_END, ENDS),
    )
    return populate_fields(fields, sent, errors)


@require_POST
@console_page(role=ADMIN, write=ADMIN)
def withdrawal_page(request: PageRequest) -> HttpResponse:
    """End an invitation."""
    text = request.POST.get("invitation", "")
    if not text.isdecimal() or len(text) > 18:
        raise NotFound
    email = withdraw_invitation(account=request.visitor.account, id=int(text), actor=request.visitor.actor)
    messages.success(request, f"The invitation of {email} is withdrawn; its link no longer works.")
    return redirect(page_address("console_members"))


@require_http_methods(["GET", "POST"])
@bind_allauth_request
def invitation_page(request: HttpRequest, token: str) -> HttpResponse:
    """Let a person with the link join, with their existing sign-in or with a new password.

    GET requests change nothing, because programs that read mail open links too.
    """
    try:
        invited = find_invitation(token=token, address=caller_ip(request), now=timezone.now())
        answer = _render_expired(request) if invited is None else _answer(request, invited)
    except NotFound:
        answer = _render_expired(request)
    except Problem as problem:
        answer = console_problem(request, problem)
    add_never_cache_headers(answer)
    # The address contains the token. `no-referrer` would also hide the origin, which the CSRF check requires.
    answer.headers["Referrer-Policy"] = "strict-origin"
    return answer


def _render_expired(request: HttpRequest) -> HttpResponse:
    return console_message(request, status=404, title="This invitation is not valid", detail=OVER)


def _answer(request: HttpRequest, invited: PendingInvitation) -> HttpResponse:
    if request.user.is_authenticated:
        return _answer_signed_in(request, invited)
    if has_sign_in(invited=invited):
        return (
            redirect_to_sign_in(request) if request.method == "POST" else _render_invitation(request, invited, "known")
        )
    return _answer_new_user(request, invited)


def _answer_signed_in(request: HttpRequest, invited: PendingInvitation) -> HttpResponse:
    if not invited.is_for(request.user):  # type: ignore[arg-type]  # middleware makes it a User
        return _render_invitation(request, invited, "other", status=403 if request.method == "POST" else 200)
    if request.method != "POST":
        return _render_invitation(request, invited, "own")
    accept_invitation(invited=invited, user=request.user)  # type: ignore[arg-type]
    return _welcome(request, invited)


def _answer_new_user(request: HttpRequest, invited: PendingInvitation) -> HttpResponse:
    if request.method != "POST":
        return _render_invitation(request, invited, "new", fields=_sign_up_fields({}, {}))
    password = request.POST.get("password", "")
    try:
        user = accept_as_new(invited=invited, name=request.POST.get("name", ""), password=password)
    except Invalid as exc:
        errors = errors_at(exc)
        fields = _sign_up_fields({"name": request.POST.get("name", "")}, errors)
        return _render_invitation(request, invited, "new", status=422, fields=fields)
    welcome = _welcome(request, invited)
    return begin(request, user, then=welcome.url)


def _sign_up_fields(sent: Mapping[str, str], errors: Mapping[str, str]) -> list[FormField]:
    fields = (
        FormField("name", "Your name"),
        FormField("password", "Choose a password", "password", help="At least 12 characters.", is_required=True),
    )
    return populate_fields(fields, sent, errors)


def _render_invitation(
    request: HttpRequest,
    invited: PendingInvitation,
    who: str,
    *,
    status: int = 200,
    fields: list[FormField] | None = None,
) -> HttpResponse:
    context = {"invited": invited, "who": who, "fields": fields or [], "here": request.get_full_path()}
    return render(request, "console/account/invitation.html", context, status=status)


def _welcome(request: HttpRequest, invited: PendingInvitation) -> HttpResponseRedirect:
    request.session[SESSION_KEY] = invited.account_id
    messages.success(request, f"Welcome to {invited.account_name}: you are {invited.role} here.")
    return redirect("console_home", invited.account_id)
