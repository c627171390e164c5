"""Admin pages of profiles: create, revise, archive; managed ones are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.admin import TabularInline
from unfold.decorators import action, display
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from evalsvc.accounts.admin.base import CODE_CLASS, EDITOR, READER, ScopedAdmin, ServiceForm, get_actor, has_role
from evalsvc.catalog.models import Profile, ProfileRevision
from evalsvc.catalog.services import archive_profile, create_profile, revise_profile
from evalsvc.rest.bodies.parsers import decode
from evalsvc.rest.problems import Problem
from evaluators.base import Family, JSONValue
from evaluators.registry import UnknownFamily, families, get_family


class SettingsField(forms.CharField):
    """Settings as JSON text, read by the rules of the API: no NUL, no NaN, no bottomless nesting."""

    def prepare_value(self, value: object) -> str:
        """Write what is stored over several lines; show again what was typed."""
        return value if isinstance(value, str) else pretty(value)

    def to_python(self, value: object) -> Any:
        """Return the decoded JSON."""
        text = super().to_python(value) or ""
        if text == "":
            return text
        try:
            return decode(text.encode(), msgspec.json.Decoder())
        except Problem as problem:
            raise forms.ValidationError(problem.detail) from None

    def run_validators(self, value: object) -> None:
        """Skip the field's validators: the service validates settings through the family."""

    def has_changed(self, initial: object, data: object) -> bool:
        """Compare meaning, not spelling."""
        try:
            return bool(initial != self.to_python(data))
        except forms.ValidationError:
            return True


def pretty(value: object) -> str:
    """Write JSON for reading."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def list_family_choices() -> list[tuple[str, str]]:
    """Return the families that take profiles of one's own, as choices."""
    return [(family.name, family.name) for family in families() if family.accepts_own_profiles]


def settings_help() -> SafeString:
    """Return what each family's profiles may set: a line for each family, that opens."""
    configurable_families = [family for family in families() if family.accepts_own_profiles]
    return format_html(
        "JSON, as `config` in the API. {}",
        format_html_join("", "{}", ((format_family_help(entry),) for entry in configurable_families)),
    )


def format_family_help(family: Family) -> SafeString:
    """Return one family's settings, each with its type and meaning, and a managed profile's as an example."""
    properties, required = family.settings_schema.get("properties"), family.settings_schema.get("required")
    rows = (
        (name, _words(schema, is_required=isinstance(required, list) and name in required))
        for name, schema in (properties if isinstance(properties, dict) else {}).items()
    )
    list_items = format_html_join("", "<li><code>{}</code>: {}</li>", rows)
    settings = next((profile.settings for profile in family.managed_profiles if profile.settings), None)
    example = "" if settings is None else format_html("<p>For example <code>{}</code></p>", json.dumps(settings))
    return format_html(
        '<details><summary class="evalsvc-summary">{}</summary><ul>{}</ul>{}</details>',
        family.name,
        list_items,
        example,
    )


def _words(schema: JSONValue, *, is_required: bool) -> str:
    schema = schema if isinstance(schema, dict) else {}
    words = f"{_kind(schema)}{', required' if is_required else ''}"
    return f"{words}. {schema['description']}" if "description" in schema else f"{words}."


def _kind(schema: Mapping[str, JSONValue]) -> str:
    choices = schema.get("enum")
    if isinstance(choices, list):
        return "one of " + ", ".join(map(str, choices))
    limits = [f"{word} {schema[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in schema]
    return " ".join([str(schema.get("type", "anything")), *limits])


class ProfileForm(ServiceForm):
    """A new profile, or the next revision of one."""

    fields_of_pointers: ClassVar[dict[str, str]] = {"config": "settings", "evaluator_family": "family"}

    family = forms.ChoiceField(choices=list_family_choices, widget=UnfoldAdminSelectWidget)
    settings = SettingsField(
        widget=UnfoldAdminTextareaWidget({"rows": 8, "cols": 20, "class": CODE_CLASS, "spellcheck": "false"}),
        help_text="JSON, as `config` in the API.",
    )
    description = forms.CharField(
        required=False,
        max_length=10_000,
        widget=UnfoldAdminTextareaWidget({"rows": 3, "cols": 20}),
        help_text="Of this revision.",
    )

    class Meta:
        model = Profile
        fields = ("family", "name")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        latest = latest_revision(self.instance) if not self.instance._state.adding else None
        if latest is None:
            self.fields["settings"].help_text = settings_help()
        self.initial.setdefault("settings", latest.settings if latest else {})
        self.initial.setdefault("description", latest.description if latest else "")


class RevisionInline(TabularInline):
    """A profile's frozen states, newest first."""

    model = ProfileRevision
    fields = readonly_fields = ("number", "shown_settings", "description", "created_at")
    ordering = ("-number",)
    verbose_name_plural = "revisions"
    extra = max_num = 0
    can_delete = False
    per_page = 20

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the profile's revisions; the profile's own page has already checked access to its account."""
        return super().get_queryset(request).defer("account")

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Let everyone look who may look at the profile."""
        return has_role(request, READER)

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Refuse: revisions are made by changing the profile."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Refuse: revisions are frozen."""
        return False

    @admin.display(description="Settings")
    def shown_settings(self, revision: ProfileRevision) -> SafeString:
        """Return the settings as they were frozen."""
        return code_block(pretty(revision.settings))


def code_block(text: str) -> SafeString:
    """Show text as it is, in a box that scrolls instead of the page."""
    return format_html('<pre dir="auto" tabindex="0" class="{}">{}</pre>', CODE_CLASS, text)


def latest_revision(profile: Profile) -> ProfileRevision | None:
    """Return the newest revision of the profile."""
    return ProfileRevision.objects.filter(profile=profile).order_by("-number").first()


@admin.register(Profile)
class ProfileAdmin(ScopedAdmin):
    """An account's profiles and the managed ones."""

    view_role, write_role = READER, EDITOR
    may_add = may_change = shows_managed = True
    form = ProfileForm
    inlines = (RevisionInline,)
    list_display = ("name", "family", "kind", "n_revisions", "state", "created_at")
    list_select_related = ("account",)
    fields = ("family", "name", "settings", "description")
    ordering = ("-created_at", "name")
    sortable_by = ("name", "family", "created_at")
    search_fields = ("name", "family", "id__iexact")
    search_help_text = "Name, family or whole id"
    actions_detail = ("archive",)

    def get_inlines(self, request: HttpRequest, obj: object) -> object:
        """Show revisions once there are some."""
        return self.inlines if obj is not None else ()

    def get_fields(self, request: HttpRequest, obj: object = None) -> list[Any]:
        """Add what the family understands, and what an archived profile has become."""
        fields = super().get_fields(request, obj)
        return fields if obj is None else [*fields, "known_settings", "state", "id"]

    def get_readonly_fields(self, request: HttpRequest, obj: object = None) -> tuple[object, ...]:
        """Fix what other rows know the profile by."""
        fixed_fields = () if obj is None else ("family", "name", "known_settings", "state", "id")
        return (*super().get_readonly_fields(request, obj), *fixed_fields)

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Refuse revisions of an archived profile."""
        archived = isinstance(obj, Profile) and obj.archived_at is not None
        return not archived and super().has_change_permission(request, obj)

    @display(description="Kind", label={"managed": "info"})
    def kind(self, profile: Profile) -> str:
        """Return whether the profile is managed or own."""
        return "managed" if profile.account_id is None else "own"

    @display(description="State", label={"in use": "success"})
    def state(self, profile: Profile) -> str:
        """Return whether requests can name it."""
        return "in use" if profile.archived_at is None else "archived"

    @admin.display(description="Settings")
    def settings(self, profile: Profile) -> SafeString:
        """Show the settings to people who may not change them."""
        latest = latest_revision(profile)
        return code_block(pretty(latest.settings if latest else {}))

    @admin.display(description="Description")
    def description(self, profile: Profile) -> str:
        """Show the description to people who may not change it."""
        latest = latest_revision(profile)
        return latest.description if latest else ""

    @admin.display(description="What the family understands")
    def known_settings(self, profile: Profile) -> SafeString:
        """Show the schema of the settings."""
        try:
            return code_block(pretty(get_family(profile.family).settings_schema))
        except UnknownFamily:
            return code_block("This version of the service does not have the family.")

    def save_model(self, request: HttpRequest, obj: Profile, form: Any, change: bool) -> None:
        """Create the profile, or freeze its next revision if anything is different."""
        account, actor = self.account_of(request, obj), get_actor(request)
        settings, description = form.cleaned_data["settings"], form.cleaned_data["description"]
        if not change:
            revision = create_profile(
                account=account,
                family=obj.family,
                name=obj.name,
                settings=settings,
                description=description,
                actor=actor,
            )
            obj.pk = revision.profile_id
        elif form.has_changed():
            revise_profile(account=account, profile=obj, settings=settings, description=description, actor=actor)

    def get_actions_detail(self, request: HttpRequest, object_id: object) -> list[object]:
        """Offer to archive what can be archived."""
        profile = self.get_object(request, str(object_id))
        return super().get_actions_detail(request, object_id) if self.has_change_permission(request, profile) else []

    @action(description="Archive", url_path="archive", icon="archive", variant=ActionVariant.DANGER)
    def archive(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take the profile out of use after a confirmation."""
        profile = self.writable(request, object_id)

        def verb() -> str:
            account = self.account_of(request, profile)
            archive_profile(account=account, profile=profile, now=timezone.now(), actor=get_actor(request))
            return f"The profile {profile.name} is archived."

        return self.confirm_change(
            request,
            profile,
            title=f"Archive the profile {profile.name}?",
            detail="Requests can no longer name it, and its name stays taken. Scores and their revisions are kept.",
            button="Archive",
            verb=verb,
        )
