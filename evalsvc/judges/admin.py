"""Admin pages of connections: add, change, test, delete. A key goes in and is never shown."""

from __future__ import annotations

import json
from typing import cast

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from unfold.dataclasses import UnfoldAction
from unfold.decorators import action, display
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextareaWidget

from evalsvc.accounts.admin.base import ADMIN, CODE_CLASS, READER, ScopedAdmin, ServiceForm, get_actor, has_role
from evalsvc.judges.calls.trial import Trial, try_connection
from evalsvc.judges.connections.facts import ConnectionFields
from evalsvc.judges.ledger.limits import get_spend_today
from evalsvc.judges.models import Connection
from evalsvc.judges.services import PLAIN_FIELDS, create_connection, delete_connection, revise_connection
from evalsvc.rest.problems import FieldError, Invalid

LIST_ADDRESS = "admin:judges_connection_changelist"


class ConnectionForm(ServiceForm):
    """Form of a connection; an empty key or headers field leaves the stored value unchanged."""

    key = forms.CharField(
        required=False,
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}, render_value=False),
        help_text="Stored encrypted and never shown again. Empty: the stored one stays.",
    )
    headers = forms.CharField(
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 3, "cols": 20, "class": CODE_CLASS, "spellcheck": "false"}),
        help_text='Further headers as JSON, as {"OpenAI-Organization": "org-…"}; stored like the key. '
        "Empty: the stored ones stay; {}: none.",
    )

    class Meta:
        model = Connection
        fields = PLAIN_FIELDS

    def clean_headers(self) -> dict[str, str] | None:
        """Read JSON with text in it; None when nothing was typed."""
        text = self.cleaned_data["headers"].strip()
        if not text:
            return None
        try:
            headers = json.loads(text)
        except (ValueError, RecursionError):
            raise forms.ValidationError("This is not JSON.") from None
        if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
            raise forms.ValidationError("Write a JSON object of texts.")
        return headers

    def changes(self) -> ConnectionFields:
        """Return what the service shall write."""
        cleaned = self.cleaned_data
        changes = cast("ConnectionFields", {name: cleaned[name] for name in PLAIN_FIELDS if name in cleaned})
        if cleaned["key"]:
            changes["key"] = cleaned["key"]
        if cleaned["headers"] is not None:
            changes["headers"] = cleaned["headers"]
        return changes


@admin.register(Connection)
class ConnectionAdmin(ScopedAdmin):
    """Admin of the account's LLM connections. Readers see everything except secrets; admins can edit."""

    view_role, write_role = READER, ADMIN
    may_add = may_change = True
    form = ConnectionForm
    list_display = ("name", "base_url", "model", "key", "state", "revised_at")
    list_select_related = ("account",)
    ordering = ("name", "id")
    sortable_by = ("name", "revised_at")
    search_fields = ("name", "base_url", "model")
    actions_detail = ("test", "delete_it")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Connection]:
        """Leave out the deleted ones; they are there for their ids only."""
        return super().get_queryset(request).filter(deleted_at=None)

    def get_fields(self, request: HttpRequest, obj: Connection | None = None) -> list[str]:
        """Include the input fields of secrets if the user can edit them, and their stored state on change pages."""
        may_write = self.has_change_permission(request, obj) if obj else True
        fields = [*PLAIN_FIELDS[:3], *(("key", "headers") if may_write else ()), *PLAIN_FIELDS[3:]]
        if obj is not None:
            fields += ["stored_key", "stored_headers", "spent", "created_at", "revised_at"]
        return ["account", *fields] if self.adds_account(request, fields) else fields

    def get_readonly_fields(self, request: HttpRequest, obj: Connection | None = None) -> tuple[str, ...]:
        """Make the fields that the service maintains read-only."""
        fields = ("stored_key", "stored_headers", "spent", "created_at", "revised_at") if obj is not None else ()
        return (*super().get_readonly_fields(request, obj), *fields)

    @admin.display(description="Key")
    def key(self, connection: Connection) -> str:
        """Show the end of a long key."""
        if not connection.has_key:
            return "none"
        return f"…{connection.key_last4}" if connection.key_last4 else "set"

    @admin.display(description="Stored key")
    def stored_key(self, connection: Connection) -> str:
        """Show the end of a long key on the form."""
        return self.key(connection)

    @admin.display(description="Stored headers")
    def stored_headers(self, connection: Connection) -> str:
        """Show names only."""
        return ", ".join(connection.header_names) or "none"

    @admin.display(description="Spent today (UTC)")
    def spent(self, connection: Connection) -> str:
        """Show the money of the day."""
        money = get_spend_today(account_id=connection.account_id, connection_id=connection.id)
        return "not known" if money is None else f"{money:.6g}"

    @display(description="State", label={"default": "info", "on": "success", "off": "warning"})
    def state(self, connection: Connection) -> str:
        """Return whether it is called, and whether it is the one that is called unless another is named."""
        if not connection.is_enabled:
            return "off"
        return "default" if connection.is_default else "on"

    def save_model(self, request: HttpRequest, obj: Connection, form: ConnectionForm, change: bool) -> None:
        """Make or change the connection."""
        account, actor = self.account_of(request, obj), get_actor(request)
        if not change:
            obj.pk = create_connection(account=account, fields=form.changes(), actor=actor).pk
        elif form.has_changed():
            revise_connection(account=account, connection=obj, changes=form.changes(), actor=actor)

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[UnfoldAction]:
        """Offer the buttons to those who may write."""
        return super().get_actions_detail(request, object_id) if has_role(request, self.write_role) else []

    @action(description="Test", url_path="test", icon="network_check")
    def test(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Make one tiny call after a confirmation and show its result."""
        connection = self.writable(request, object_id)

        def verb() -> str:
            return _format_trial(try_connection(connection))

        return self.confirm_change(
            request,
            connection,
            title=f"Call {connection.name} once?",
            detail=f"The model {connection.model} is asked for one word. It costs what a tiny call costs.",
            button="Call it",
            verb=verb,
        )

    @action(description="Delete", url_path="forget", icon="delete", variant=ActionVariant.DANGER)
    def delete_it(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take the connection out of use after a confirmation."""
        connection = self.writable(request, object_id)

        def verb() -> str:
            account = self.account_of(request, connection)
            delete_connection(account=account, connection=connection, now=timezone.now(), actor=get_actor(request))
            return f"The connection {connection.name} is deleted, and its key forgotten."

        answer = self.confirm_change(
            request,
            connection,
            title=f"Delete the connection {connection.name}?",
            detail="Its key is forgotten. What still names the connection is answered with not_configured.",
            button="Delete",
            verb=verb,
        )
        return redirect(LIST_ADDRESS) if request.method == "POST" else answer


def _format_trial(trial: Trial) -> str:
    """Return what a test call brought; raises Invalid when it brought nothing, so that the page shows an error."""
    if trial.ok:
        return f"{trial.model} answered after {trial.latency_ms:.0f} ms."
    raise Invalid(FieldError("", f"{trial.error_code}: {trial.error_detail}"))
