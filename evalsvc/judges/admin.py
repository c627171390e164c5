"""Admin pages of connections: add, change, test, delete. A key goes in and is never shown."""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec
from django import forms
from django.conf import settings
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
from evalsvc.judges.connections.facts import ConnectionFields
from evalsvc.judges.ledger.limits import get_spend_today
from evalsvc.judges.models import Connection
from evalsvc.judges.questions.descriptions import describe_dialect
from evalsvc.judges.questions.trial import describe_trial, try_connection
from evalsvc.judges.services import PLAIN_FIELDS, SECRET_FIELDS, create_connection, delete_connection, revise_connection
from evalsvc.rest.bodies.parsers import decode
from evalsvc.rest.problems import FieldError, Invalid, Problem

JSON_WIDGET = {"rows": 3, "cols": 20, "class": CODE_CLASS, "spellcheck": "false"}
STORED = ("stored_key", "stored_headers", "show_query", "show_dialects", "spent", "created_at", "revised_at")
_decoder = msgspec.json.Decoder()
LIST_ADDRESS = "admin:judges_connection_changelist"


class ConnectionForm(ServiceForm):
    """Form of a connection; an empty key, headers or query field leaves the stored value unchanged."""

    key = forms.CharField(
        required=False,
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}, render_value=False),
        help_text="Stored encrypted and never shown again. Leave empty to keep the stored one.",
    )
    headers = forms.CharField(
        required=False,
        widget=UnfoldAdminTextareaWidget(JSON_WIDGET),
        help_text='Further headers as JSON, as {"OpenAI-Organization": "org-…"}; stored like the key. '
        "Empty: the stored ones stay; {}: none.",
    )
    query = forms.CharField(
        required=False,
        widget=UnfoldAdminTextareaWidget(JSON_WIDGET),
        help_text='Query parameters of each request as JSON, such as {"api-version": "2024-10-21"}; stored like the '
        "key. Empty: the stored ones stay; {}: none.",
    )
    extra_body = forms.CharField(
        required=False,
        widget=UnfoldAdminTextareaWidget(JSON_WIDGET),
        help_text='Further fields of each request as JSON, such as {"reasoning_effort": "low"}. Empty: none.',
    )

    class Meta:
        model = Connection
        fields = PLAIN_FIELDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "protocol" in self.fields:
            self.fields["protocol"].required = False
        if stored := self.instance.extra_body:
            self.initial["extra_body"] = json.dumps(stored, indent=2, ensure_ascii=False)
        else:
            self.initial["extra_body"] = ""

    def clean_headers(self) -> dict[str, str] | None:
        """Read JSON with text in it; None when nothing was typed."""
        return _read_texts(self.cleaned_data["headers"])

    def clean_query(self) -> dict[str, str] | None:
        """Read JSON with text in it; None when nothing was typed."""
        return _read_texts(self.cleaned_data["query"])

    def clean_extra_body(self) -> dict[str, Any]:
        """Read a JSON object; an empty field is an empty one."""
        return _read_object(self.cleaned_data["extra_body"]) or {}

    def changes(self) -> ConnectionFields:
        """Return what the service shall write."""
        cleaned = self.cleaned_data
        changes = cast("ConnectionFields", {name: cleaned[name] for name in PLAIN_FIELDS if name in cleaned})
        if not changes["protocol"]:
            del changes["protocol"]
        if cleaned["key"]:
            changes["key"] = cleaned["key"]
        if cleaned["headers"] is not None:
            changes["headers"] = cleaned["headers"]
        if cleaned["query"] is not None:
            changes["query"] = cleaned["query"]
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
        fields = [*PLAIN_FIELDS[:3], *(SECRET_FIELDS if may_write else ()), *PLAIN_FIELDS[3:]]
        if obj is not None:
            fields += STORED
        return ["account", *fields] if self.adds_account(request, fields) else fields

    def get_readonly_fields(self, request: HttpRequest, obj: Connection | None = None) -> tuple[str, ...]:
        """Make the fields that the service maintains read-only."""
        fields = STORED if obj is not None else ()
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

    @admin.display(description="Stored query")
    def show_query(self, connection: Connection) -> str:
        """Show names only."""
        return ", ".join(connection.query_names) or "none"

    @admin.display(description="Request settings learned per model")
    def show_dialects(self, connection: Connection) -> str:
        """Show what was learnt of each model."""
        lines = (f"{model}: {describe_dialect(dialect)}" for model, dialect in sorted(connection.dialects.items()))
        return "\n".join(lines) or "not known yet"

    @admin.display(description="Spent today (UTC)")
    def spent(self, connection: Connection) -> str:
        """Show the money of the day."""
        money = get_spend_today(account_id=connection.account_id, connection_id=connection.id)
        return "not known" if money is None else f"{money:.6g} {connection.currency or settings.CURRENCY}"

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
        """Ask a test question after a confirmation and show its result."""
        connection = self.writable(request, object_id)

        def verb() -> str:
            trial = try_connection(connection)
            if not trial.ok:
                raise Invalid(FieldError("", describe_trial(trial)))
            return describe_trial(trial)

        return self.confirm_change(
            request,
            connection,
            title=f"Ask {connection.name} a test question?",
            detail=f"The model {connection.model} gives one small verdict. It costs what the tokens cost.",
            button="Ask it",
            verb=verb,
        )

    @action(description="Delete", url_path="forget", icon="delete", variant=ActionVariant.DANGER)
    def delete_it(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take the connection out of use after a confirmation."""
        connection = self.writable(request, object_id)

        def verb() -> str:
            account = self.account_of(request, connection)
            delete_connection(account=account, connection=connection, now=timezone.now(), actor=get_actor(request))
            return f"The connection {connection.name} and its key are deleted."

        answer = self.confirm_change(
            request,
            connection,
            title=f"Delete the connection {connection.name}?",
            detail="Its key is forgotten. What still names the connection is answered with not_configured.",
            button="Delete",
            verb=verb,
        )
        return redirect(LIST_ADDRESS) if request.method == "POST" else answer


def _read_object(text: str) -> dict[str, Any] | None:
    """Read a JSON object by the rules of the API; None when nothing was typed. Raises ValidationError."""
    if not text.strip():
        return None
    try:
        document = decode(text.encode("utf-8", "surrogatepass"), _decoder)
    except Problem as problem:
        raise forms.ValidationError(problem.detail.replace("The body", "This", 1)) from None
    if not isinstance(document, dict):
        raise forms.ValidationError("Enter a JSON object.")
    return document


def _read_texts(text: str) -> dict[str, str] | None:
    texts = _read_object(text)
    if texts is not None and not all(isinstance(value, str) for value in texts.values()):
        raise forms.ValidationError("Write a JSON object of texts.")
    return texts
