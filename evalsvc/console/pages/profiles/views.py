"""/console/profiles: the list, one profile with its revisions, and the forms that make, revise and archive."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsvc.catalog.models import Profile, ProfileRevision
from evalsvc.catalog.selectors import (
    get_profile,
    get_visible_profile,
    list_evaluators,
    list_profile_revisions,
    list_revisions,
)
from evalsvc.catalog.services import archive_profile, create_profile, revise_profile
from evalsvc.console.access import EDITOR, PageRequest, console_page
from evalsvc.console.once import SENT_TWICE
from evalsvc.console.pages.profiles.drafts import (
    Draft,
    add_errors,
    find_family,
    is_saving,
    new_draft,
    profile_families,
    read_draft,
)
from evalsvc.console.pages.profiles.revisions import setting_changes
from evalsvc.console.parts.addresses import int_param, page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.forms.confirmation import check_confirmation
from evalsvc.console.parts.forms.fields import FormField
from evalsvc.console.parts.forms.json_fields import format_json
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.tables import Column, PageTable, TableRow
from evalsvc.reports.page.elements import element
from evalsvc.rest.bodies.scalars import read_uuid
from evalsvc.rest.problems import Invalid, NotFound

MAX_SHOWN = 500
COLUMNS = (
    Column("Profile"),
    Column("Family"),
    Column("Description", kind="wide"),
    Column("Revision", kind="figure"),
    Column("Since"),
)


@require_safe
@console_page()
def profiles_page(request: PageRequest) -> HttpResponse:
    """Show profiles: the account's own, then those that come with the product."""
    search = {name: request.GET.get(name, "").strip() for name in ("q", "family", "state")}
    filters = {
        "get_last_revision": True,
        "enabled": search["state"] != "archived",
        "evaluator_family": search["family"],
    }
    rows = list(list_revisions(account=request.visitor.account, filters=filters)[:MAX_SHOWN])
    words = search["q"].lower()
    matching = [row for row in rows if words in f"{row.profile.name} {row.description}".lower()]
    names = [family.name for family in profile_families()]
    fields = [
        FormField("q", "Words", value=search["q"]),
        FormField("family", "Family", "select", search["family"], [("", "all"), *((name, name) for name in names)]),
        FormField("state", "State", "select", search["state"], [("", "in use"), ("archived", "archived")]),
    ]
    now = request.visitor.now
    table = PageTable(
        "Profiles", COLUMNS, [_row(row, now) for row in matching], is_walked=True, empty="No profiles found."
    )
    context = {
        "fields": fields,
        "table": table,
        "call": ApiCall("GET", "/v1/evaluator-criteria", {"get_last_revision": "true"}),
    }
    return render(request, "console/profiles/list.html", context)


def _row(one: ProfileRevision, now: Any) -> TableRow:
    kind = element("span", "managed", class_="badge") if one.profile.account_id is None else ""
    name = element("span", one.profile.name, " ", kind, dir="auto")
    description = element("span", one.description[:300], dir="auto", class_="preview")
    href = page_address("console_profile", one.profile_id)
    return TableRow((name, one.profile.family, description, one.number, time_tag(one.created_at, now)), href=href)


@require_safe
@console_page()
def profile_page(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Show a profile, one of its revisions, and what that changed."""
    account = request.visitor.account
    profile = get_visible_profile(account=account, id=id)
    revisions = list_profile_revisions(account=account, profile=profile)
    revision = _find_revision(revisions, int_param(request, "revision", revisions[0].number))
    before = next(
        (
            candidate
            for candidate in revisions
            if candidate.number == int_param(request, "against", revision.number - 1, low=0)
        ),
        None,
    )
    context = {
        "profile": profile,
        "revisions": revisions,
        "shown": revision,
        "before": before,
        "changes": setting_changes(before.settings, revision.settings) if before else [],
        "settings": format_json(revision.settings),
        "is_own": profile.account_id is not None,
        "may_change": profile.account_id is not None and profile.archived_at is None and request.visitor.may_edit,
        "call": ApiCall("GET", "/v1/evaluator-criteria", {"public_id": str(profile.pk)}),
    }
    return render(request, "console/profiles/detail.html", context)


def _find_revision(revisions: list[ProfileRevision], number: int) -> ProfileRevision:
    match = next((revision for revision in revisions if revision.number == number), None)
    if match is None:
        raise NotFound
    return match


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=SENT_TWICE)
def new_profile(request: PageRequest) -> HttpResponse:
    """Choose a family, then make a profile of it."""
    name = request.POST.get("family") or request.GET.get("family") or _family_of_evaluator(request)
    if not name:
        return render(request, "console/profiles/families.html", {"families": profile_families()})
    family, visitor = find_family(name), request.visitor
    if request.method == "GET":
        return _form(request, new_draft(family, _copied(request), name=request.GET.get("name", "")))
    draft = read_draft(family, request.POST)
    if draft.errors or not is_saving(request.POST):
        return _form(request, draft)
    try:
        profile = create_profile(
            account=visitor.account, family=family.name, name=draft.name, settings=draft.settings,
            description=draft.description, actor=visitor.actor,
        )  # fmt: skip
    except Invalid as problem:
        return _form(request, add_errors(draft, problem))
    messages.success(request, f"The profile {profile.profile.name} is created. Use it as `criteria` in API calls.")
    return redirect(page_address("console_profile", profile.profile_id))


def _family_of_evaluator(request: PageRequest) -> str | None:
    """Return the family of the evaluator with which the playground has tried settings."""
    evaluator = request.POST.get("evaluator", "")
    rows = list_evaluators(account=request.visitor.account, by_alias_or_id=evaluator) if evaluator else []
    return rows[0].family if rows else None


def _copied(request: PageRequest) -> dict[str, Any]:
    """Return the settings of the profile that the new one begins with."""
    if (id := read_uuid(request.GET.get("copy", ""))) is None:
        return {}
    account = request.visitor.account
    profile = get_visible_profile(account=account, id=uuid.UUID(str(id)))
    return dict(list_profile_revisions(account=account, profile=profile)[0].settings)


@require_http_methods(["GET", "POST"])
@console_page(role=EDITOR, once=SENT_TWICE)
def revise_page(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Freeze new settings as the profile's next revision."""
    visitor = request.visitor
    profile = get_profile(account=visitor.account, id=id)
    family = find_family(profile.family)
    if request.method == "GET":
        last = list_profile_revisions(account=visitor.account, profile=profile)[0]
        return _form(request, new_draft(family, last.settings, description=last.description), profile)
    draft = read_draft(family, request.POST)
    if draft.errors or not is_saving(request.POST):
        return _form(request, draft, profile)
    try:
        revision = revise_profile(
            account=visitor.account, profile=profile, settings=draft.settings, description=draft.description,
            actor=visitor.actor,
        )  # fmt: skip
    except Invalid as problem:
        return _form(request, add_errors(draft, problem), profile)
    messages.success(request, f"Revision {revision.number} is now in use. Earlier results keep their revision.")
    return redirect(page_address("console_profile", profile.pk))


def _form(request: PageRequest, draft: Draft, profile: Profile | None = None) -> HttpResponse:
    context = {
        "draft": draft,
        "form": draft.form,
        "profile": profile,
        "example": next((managed for managed in draft.family.managed_profiles if managed.settings), None),
    }
    return render(request, "console/profiles/form.html", context, status=422 if draft.errors else 200)


@require_POST
@console_page()
def archive_page(request: PageRequest, id: uuid.UUID) -> HttpResponse:
    """Take a profile out of use, once its name was typed."""
    visitor = request.visitor
    profile = get_profile(account=visitor.account, id=id)
    if check_confirmation(request, profile.name):
        archive_profile(account=visitor.account, profile=profile, now=visitor.now, actor=visitor.actor)
        messages.success(request, f"The profile {profile.name} is archived. Its scores and revisions are kept.")
    return redirect(page_address("console_profile", profile.pk))
