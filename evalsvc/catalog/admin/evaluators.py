"""Admin pages of evaluators: the managed ones can be switched off; own ones are made and changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.postgres.forms import SimpleArrayField
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from evalsvc.accounts.admin.base import EDITOR, READER, ScopedAdmin, ServiceForm, get_actor
from evalsvc.accounts.membership import CURRENT
from evalsvc.catalog.models import Evaluator, valid_name
from evalsvc.catalog.services import create_evaluator, save_evaluator, switch_evaluator
from evaluators.registry import all_evaluators

Choices = list[tuple[str, str]]


def managed_evaluators() -> Choices:
    """Return the managed evaluators that an own evaluator can be based on, as choices."""
    return [(spec.id, f"{spec.name} ({spec.id})") for _, spec in all_evaluators()]


class EvaluatorForm(ServiceForm):
    """An evaluator under a name of one's own."""

    base = forms.ChoiceField(
        choices=managed_evaluators,
        widget=UnfoldAdminSelectWidget,
        help_text="The managed evaluator that does the work.",
    )
    aliases = SimpleArrayField(
        forms.CharField(max_length=100, validators=[valid_name]),
        required=False,
        max_length=20,
        widget=UnfoldAdminTextInputWidget,
        help_text="Other names it answers to, with commas between.",
    )
    default_profile = forms.CharField(
        required=False,
        max_length=120,
        widget=UnfoldAdminTextInputWidget,
        help_text="Used when a request names none. Empty: what the managed evaluator uses.",
    )

    class Meta:
        model = Evaluator
        fields = ("evaluator_id", "name", "base", "aliases", "default_profile", "description", "is_enabled")

    def clean_default_profile(self) -> str | None:
        """Return no name for an empty one; the service checks others."""
        return self.cleaned_data["default_profile"] or None


@admin.register(Evaluator)
class EvaluatorAdmin(ScopedAdmin):
    """An account's evaluators and the managed ones."""

    view_role, write_role = READER, EDITOR
    may_add = may_change = shows_managed = True
    form = EvaluatorForm
    list_display = ("evaluator_id", "name", "family", "kind", "state", "default_profile")
    list_select_related = ("account",)
    fields = ("evaluator_id", "name", "base", "aliases", "default_profile", "description", "is_enabled")
    ordering = ("family", "evaluator_id")
    sortable_by = ("evaluator_id", "family")
    search_fields = ("evaluator_id", "name", "family")
    actions_detail = ("switch_off", "switch_on")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Hide a managed evaluator behind the account's own row of the same id, as running it does."""
        rows = super().get_queryset(request)
        membership = CURRENT.get()
        if membership is None:
            return rows
        overrides = Evaluator.objects.filter(account_id=membership.account_id, evaluator_id=OuterRef("evaluator_id"))
        return rows.exclude(Exists(overrides), account_id=None)

    def get_readonly_fields(self, request: HttpRequest, obj: object = None) -> tuple[object, ...]:
        """Fix what stored scores know the evaluator by."""
        fixed_fields = () if obj is None else ("evaluator_id", "base")
        return (*super().get_readonly_fields(request, obj), *fixed_fields)

    @display(description="Kind", label={"managed": "info"})
    def kind(self, evaluator: Evaluator) -> str:
        """Return whether the evaluator is managed or own; a switched managed one is a row of the account."""
        return "managed" if evaluator.evaluator_id == evaluator.base else "own"

    @display(description="State", label={"on": "success", "off": "warning"})
    def state(self, evaluator: Evaluator) -> str:
        """Return whether requests can run it."""
        return "on" if evaluator.is_enabled else "off"

    def save_model(self, request: HttpRequest, obj: Evaluator, form: Any, change: bool) -> None:
        """Make or change an own evaluator."""
        save = save_evaluator if change else create_evaluator
        save(account=self.account_of(request, obj), evaluator=obj, actor=get_actor(request))

    def get_actions_detail(self, request: HttpRequest, object_id: object) -> list[object]:
        """Offer the switch that changes something."""
        evaluator = self.get_object(request, str(object_id))
        if evaluator is None or not self.has_switch(request, evaluator):
            return []
        suffix = "switch_off" if evaluator.is_enabled else "switch_on"
        return [
            detail_action
            for detail_action in super().get_actions_detail(request, object_id)
            if detail_action.action_name.endswith(suffix)
        ]

    def has_switch(self, request: HttpRequest, evaluator: Evaluator) -> bool:
        """Return whether there is an account to switch it in: an operator looks at a managed row from nowhere."""
        in_account = CURRENT.get() is not None or evaluator.account_id is not None
        return in_account and self.has_add_permission(request)

    @action(description="Switch off", url_path="switch-off", icon="toggle_off")
    def switch_off(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Refuse requests for it, in this account."""
        return self._switch(request, object_id, is_enabled=False)

    @action(description="Switch on", url_path="switch-on", icon="toggle_on")
    def switch_on(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Run it again, in this account."""
        return self._switch(request, object_id, is_enabled=True)

    def _switch(self, request: HttpRequest, object_id: str, *, is_enabled: bool) -> HttpResponse:
        evaluator = self.writable(request, object_id, managed=True)
        word = "on" if is_enabled else "off"
        effect = "run again" if is_enabled else "are answered with evaluator_disabled"
        return self.confirm_change(
            request,
            evaluator,
            title=f"Switch {evaluator.evaluator_id} {word}?",
            detail=f"In this account, requests for it {effect} from now on. Its scores and history are kept.",
            button=f"Switch {word}",
            verb=self._switching(request, evaluator, is_enabled=is_enabled),
        )

    def _switching(self, request: HttpRequest, evaluator: Evaluator, *, is_enabled: bool) -> Callable[[], str]:
        def verb() -> str:
            account = self.account_of(request, evaluator)
            row = switch_evaluator(
                account=account, evaluator=evaluator, is_enabled=is_enabled, actor=get_actor(request)
            )
            evaluator.pk = row.pk  # a managed row is now hidden behind the account's own
            return f"{row.evaluator_id} is {'on' if is_enabled else 'off'} in this account."

        return verb
