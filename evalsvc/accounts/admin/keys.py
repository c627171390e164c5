"""Admin pages of API keys: issue (the secret is in that one answer and nowhere else) and revoke."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from unfold.decorators import action, display
from unfold.enums import ActionVariant

from evalsvc.accounts.admin.base import ADMIN, ScopedAdmin, ServiceForm, get_actor
from evalsvc.accounts.models import ApiKey
from evalsvc.accounts.services import issue_key, revoke_key


class KeyForm(ServiceForm):
    """The fields of a new key."""

    def clean_expires_at(self) -> object:
        """Refuse a key that would be dead at birth."""
        expires_at = self.cleaned_data["expires_at"]
        if expires_at is not None and expires_at <= timezone.now():
            raise ValidationError("Choose a time in the future.")
        return expires_at


@admin.register(ApiKey)
class ApiKeyAdmin(ScopedAdmin):
    """An account's keys. A key is never changed: issue another one and revoke this one."""

    view_role = write_role = ADMIN
    may_add = True
    form = KeyForm
    list_display = ("name", "key", "scope", "state", "used_at", "created_at", "expires_at")
    list_display_links = ("name",)
    list_select_related = ("account",)
    ordering = ("-id",)
    sortable_by = ()
    search_fields = ("name", "public")
    search_help_text = "Name, or the part of the key between ek_ and the dot"
    actions_detail = ("revoke",)

    def get_fields(self, request: HttpRequest, obj: object = None) -> list[Any]:
        """Return three fields for a new key, and everything except the hash for an existing one."""
        self_made = ["name", "scope", "expires_at"]
        all_fields = ["name", "key", "scope", "state", "used_at", "created_at", "expires_at", "revoked_at"]
        fields = self_made if obj is None else all_fields
        return ["account", *fields] if self.adds_account(request, fields) else fields

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Offer one button: the key is shown next, whatever else one would like to do."""
        buttons = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, {**(extra_context or {}), **buttons})

    @admin.display(description="Key")
    def key(self, key: ApiKey) -> str:
        """Return the public half."""
        return f"ek_{key.public}"

    @display(description="State", label={"live": "success", "expired": "warning", "revoked": "danger"})
    def state(self, key: ApiKey) -> str:
        """Return whether the key is valid now."""
        return key.state(timezone.now())

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        """Issue the key; its text travels on this request only."""
        if change:
            raise PermissionDenied
        new_key, text = issue_key(
            account=self.account_of(request, obj),
            name=obj.name,
            scope=ApiKey.Scope(obj.scope),
            expires_at=obj.expires_at,
            actor=get_actor(request),
        )
        obj.pk, obj.public = new_key.pk, new_key.public
        request.issued_key = str(text)  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        """Show the key in this answer. A redirect would have to store it somewhere in between."""
        context = {
            **self.admin_site.each_context(request),
            "title": "Copy the key now",
            "opts": self.opts,
            "issued_key": request.issued_key,  # type: ignore[attr-defined]
            "key_name": obj.name,
            "list_url": reverse("admin:accounts_apikey_changelist"),
        }
        return render(request, "accounts/issued_key.html", context)

    def get_actions_detail(self, request: HttpRequest, object_id: object) -> list[object]:
        """Offer to revoke what is not revoked yet."""
        key = self.get_object(request, str(object_id))
        return super().get_actions_detail(request, object_id) if key and key.revoked_at is None else []

    @action(description="Revoke", url_path="revoke", icon="block", variant=ActionVariant.DANGER)
    def revoke(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """End the key after a confirmation."""
        key = self.writable(request, object_id)

        def verb() -> str:
            account = self.account_of(request, key)
            revoke_key(account=account, key=key, now=timezone.now(), actor=get_actor(request))
            return f"The key {key.name} is revoked. Requests with it are refused from now on."

        return self.confirm_change(
            request,
            key,
            title=f"Revoke the key {key.name}?",
            detail=f"Requests with ek_{key.public} are refused from now on. A revoked key cannot be brought back.",
            button="Revoke",
            verb=verb,
        )
