"""/console/members: who belongs to the account and as what, and who is invited."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsvc.accounts.invitations import list_open_invitations
from evalsvc.accounts.models import Member
from evalsvc.accounts.selectors import get_member, list_members
from evalsvc.accounts.services import change_role, remove_member
from evalsvc.accounts.signing_in.rule import annotate_factors
from evalsvc.console.access import ADMIN, PageRequest, console_page
from evalsvc.console.pages.account.factor_rule import factor_text, load_factor_rule
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.forms.confirmation import is_confirmed
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.tables import Column, PageTable, TableRow, paginate
from evalsvc.reports.page.elements import element
from evalsvc.rest.problems import Invalid

ON_A_PAGE = 50
MEMBERS = (Column("Person"), Column("Role"), Column("Second factor"), Column("Since"), Column("Last sign-in"))
INVITATIONS = (
    Column("Invited"),
    Column("As"),
    Column("By"),
    Column("Made"),
    Column("Ends"),
    Column("", kind="act"),
)
ROLES = (
    ("reader", "reader: can view"),
    ("editor", "editor: can create and change profiles, datasets, experiments and labels"),
    ("admin", "admin: can also manage keys, members and retention, and delete the account"),
)


@require_safe
@console_page(role=ADMIN)
def members_page(request: PageRequest) -> HttpResponse:
    """List the people of the account, oldest first, and the invitations that are open."""
    visitor = request.visitor
    members, links = paginate(request, annotate_factors(list_members(account=visitor.account)), ON_A_PAGE)
    invitations = list_open_invitations(account=visitor.account)
    context = {
        "table": PageTable(
            "Members", MEMBERS, [_row(member, visitor.user.pk, visitor.now) for member in members], is_walked=True
        ),
        "invitations": PageTable(
            "Open invitations",
            INVITATIONS,
            [_invitation_row(invitation, visitor.now) for invitation in invitations],
            empty="No open invitations.",
        ),
        "rule": load_factor_rule(visitor.account),
        **links,
    }
    return render(request, "console/account/members.html", context)


def _row(member: Member, own_id: int, now: datetime) -> TableRow:
    user = member.user
    marks = [" (you)"] * (user.pk == own_id) + [" (switched off)"] * (not user.is_active)
    role = element("span", member.role, *(element("span", mark, class_="quiet") for mark in marks))
    cells = (
        element("bdi", user.email),
        role,
        factor_text(member),
        time_tag(member.created_at, now),
        time_tag(user.last_login, now),
    )
    return TableRow(cells, page_address("console_member", member.pk))


def _invitation_row(one: Any, now: datetime) -> TableRow:
    is_over = one.expires_at <= now
    ends = element("span", "over", class_="badge warn") if is_over else time_tag(one.expires_at, now)
    # The form is above the table; it contains the CSRF token.
    withdraw = element(
        "button",
        "Withdraw",
        element("span", f" the invitation of {one.email}", class_="unseen"),
        type="submit",
        class_="small",
        form="withdrawal",
        name="invitation",
        value=one.pk,
    )
    cells = (element("bdi", one.email), one.role, one.who, time_tag(one.created_at, now), ends, withdraw)
    return TableRow(cells, tone="warn" if is_over else "")


@require_http_methods(["GET", "POST"])
@console_page(role=ADMIN, write=ADMIN)
def member_page(request: PageRequest, id: int) -> HttpResponse:
    """Show a person of the account; change their role."""
    visitor = request.visitor
    member = get_member(account=visitor.account, id=id)
    role, error = request.POST.get("role", member.role), ""
    if request.method == "POST":
        try:
            changed = change_role(account=visitor.account, member=member, role=role, actor=visitor.actor)
        except Invalid as exc:
            error = exc.detail
        else:
            messages.success(request, f"{member.user.email} is {changed.role} here from the next page on.")
            return redirect(page_address("console_members"))
    return _member(request, member, role_error=error)


@require_POST
@console_page(role=ADMIN, write=ADMIN)
def removal_page(request: PageRequest, id: int) -> HttpResponse:
    """Take a person out of the account, once their address was typed."""
    visitor = request.visitor
    member = get_member(account=visitor.account, id=id)
    email = member.user.email
    if not is_confirmed(request, email):
        return _member(request, member, confirm_error="Nobody was removed: the address does not match.")
    try:
        remove_member(account=visitor.account, member=member, actor=visitor.actor)
    except Invalid as exc:
        return _member(request, member, confirm_error=exc.detail)
    messages.success(request, f"{email} is no longer a member and cannot open this account.")
    return redirect(reverse("console_start") if member.user_id == visitor.user.pk else page_address("console_members"))


def _member(request: PageRequest, member: Member, *, role_error: str = "", confirm_error: str = "") -> HttpResponse:
    email = member.user.email
    context = {
        "member": member,
        "is_self": member.user_id == request.visitor.user.pk,
        "role": FormField("role", "Role", "select", member.role, ROLES, error=role_error),
        "confirm": FormField("confirm", f"Type {email} to confirm", error=confirm_error, is_required=True),
    }
    return render(request, "console/account/member.html", context, status=422 if role_error or confirm_error else 200)
