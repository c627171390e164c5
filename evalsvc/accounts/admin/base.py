"""The base of all admin pages: permissions by role, rows by account, and a service's errors on the form."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.admin import ShowFacets
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import Truncator
from unfold.admin import ModelAdmin
from unfold.paginator import InfinitePaginator
from unfold.views import ChangeList

from evalsvc.accounts.membership import CURRENT
from evalsvc.accounts.models import Account, Member
from evalsvc.accounts.selectors import get_account
from evalsvc.rest.problems import Problem

log = logging.getLogger(__name__)
READER, EDITOR, ADMIN = Member.Role.READER, Member.Role.EDITOR, Member.Role.ADMIN


def is_operator(request: HttpRequest) -> bool:
    """Return whether a superuser is looking: they see every account."""
    return bool(request.user.is_active and request.user.is_superuser)


def has_role(request: HttpRequest, role: Member.Role | None) -> bool:
    """Return whether the person has at least this role in the account they look at; no role means operators only."""
    if is_operator(request):
        return True
    membership = CURRENT.get()
    return membership is not None and role is not None and membership.is_at_least(role)


def get_actor(request: HttpRequest) -> str:
    """Return how the audit trail names the person."""
    return f"user:{request.user.pk}"


# Classes of our own in pages.css, because unfold's style sheet contains only the classes that unfold itself uses.
TEXT_CLASS, CODE_CLASS = "evalsvc-text", "evalsvc-code"


def shorten(text: str | None, length: int = 60) -> str:
    """Cut text for a list; the template escapes it."""
    return Truncator(text or "").chars(length)


class BigTablePaginator(InfinitePaginator):
    """Pages without counting the table, and an end to paging: deep offsets read everything before them."""

    max_pages = 200

    @property
    def count(self) -> int:
        """Return the highest number of rows that can be paged to."""
        return int(self.per_page) * self.max_pages


class UncountedChangeList(ChangeList):
    """A change list without a result count, because the rows are not counted."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the page; equal counts make the header omit both."""
        super().get_results(request)
        self.full_result_count = self.result_count


if TYPE_CHECKING:
    AnyModelForm = forms.ModelForm[Any]
else:
    AnyModelForm = forms.ModelForm


class ServiceForm(AnyModelForm):
    """A form that shows what a service refused, on the field that it is about."""

    refusal: Problem | None = None
    """Set by the ModelAdmin when the first attempt to save was refused."""
    fields_of_pointers: ClassVar[dict[str, str]] = {}
    """Where a pointer's first part is not the field's name."""

    def _post_clean(self) -> None:
        super()._post_clean()
        if self.refusal is None:
            return
        errors = [(error.pointer, error.detail) for error in self.refusal.errors] or [("", self.refusal.detail)]
        for pointer, detail in errors:
            first, _, remainder = pointer.removeprefix("/").partition("/")
            name = self.fields_of_pointers.get(first, first)
            self.add_error(name if name in self.fields else None, f"{remainder}: {detail}" if remainder else detail)


class ScopedAdmin(ModelAdmin):
    """The base of every page: rows of the member's account only, by role, written by services only."""

    view_role: Member.Role | None = None
    write_role: Member.Role | None = None
    """Who may look and who may write; None: operators only."""
    may_add = may_change = False
    shows_managed = False
    """True where rows without an account are shown to everyone."""

    form = ServiceForm
    actions: Any = ()
    list_per_page = 50
    show_full_result_count = False
    show_facets = ShowFacets.NEVER  # a facet counts the whole table
    change_form_before_template = "accounts/account_field.html"
    empty_value_display = "-"

    # --- who may do what ---------------------------------------------------------------------------------------------
    def has_module_permission(self, request: HttpRequest) -> bool:
        """Show the model to people who may view its rows."""
        return has_role(request, self.view_role)

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Let people look from `view_role` on."""
        return has_role(request, self.view_role)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Let people add from `write_role` on, where adding exists."""
        return self.may_add and has_role(request, self.write_role)

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Let people change from `write_role` on, where changing exists, and never a managed row."""
        managed = self.shows_managed and isinstance(obj, Model) and getattr(obj, "account_id", None) is None
        return self.may_change and not managed and has_role(request, self.write_role)

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Refuse: rows have a history."""
        return False

    def get_actions(self, request: HttpRequest) -> dict[str, object]:
        """Offer no bulk actions: each change has its own confirmation."""
        return {}

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Refuse filters by URL that the page does not offer, such as guessing at a stored hash by its beginning."""
        return lookup in {getattr(list_filter, "parameter_name", None) for list_filter in self.list_filter}

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ChangeList]:
        """Use our own list."""
        return UncountedChangeList

    # --- row scope ----------------------------------------------------------------------------------------------------
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the account's rows, and the managed ones where the model has them."""
        rows: QuerySet[Any] = super().get_queryset(request)
        if is_operator(request):
            return self.exclude_deleted(rows)
        membership = CURRENT.get()
        if membership is None or not self.has_account:
            return rows.none()
        account_filter = Q(account_id=membership.account_id)
        return rows.filter(account_filter | Q(account_id=None) if self.shows_managed else account_filter)

    def exclude_deleted(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Exclude rows of accounts that are being deleted; even operators do not see them."""
        deleted_ids = list(Account.objects.exclude(deleted_at=None).values_list("pk", flat=True))
        if not deleted_ids or not (self.has_account or self.model is Account):
            return rows
        # Rows without an account are everybody's; `exclude` alone would compare them with null.
        return rows.exclude(pk__in=deleted_ids) if self.model is Account else rows.exclude(account_id__in=deleted_ids)

    def account_of(self, request: HttpRequest, obj: object = None) -> Account:
        """Return the account that a write is for: the member's own, or the one of the operator's row."""
        membership = CURRENT.get()
        account_id = membership.account_id if membership else getattr(obj, "account_id", None)
        if account_id is None:
            raise PermissionDenied
        return get_account(id=account_id)

    def get_list_display(self, request: HttpRequest) -> tuple[object, ...]:
        """Add the account for operators."""
        columns = tuple(super().get_list_display(request))
        return (*columns, "account") if self.adds_account(request, columns) else columns

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Add the account for operators."""
        fields = list(super().get_fields(request, obj))
        return ["account", *fields] if self.adds_account(request, fields) else fields

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[object, ...]:
        """Fix the account once the row is there."""
        fields = tuple(super().get_readonly_fields(request, obj))
        return (*fields, "account") if obj is not None and self.adds_account(request, fields) else fields

    def get_autocomplete_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """Let operators search for the account."""
        return ("account",) if self.has_account else ()

    def adds_account(self, request: HttpRequest, names: Any) -> bool:
        """Return whether to add the account to these columns or fields."""
        return self.has_account and is_operator(request) and "account" not in names

    @property
    def has_account(self) -> bool:
        """Return whether rows belong to an account."""
        return any(field.name == "account" for field in self.model._meta.fields)

    # --- writing -----------------------------------------------------------------------------------------------------
    def get_form(self, request: HttpRequest, obj: object = None, change: bool = False, **kwargs: object) -> Any:
        """Give the form what a service refused, if this is the second pass."""
        form = super().get_form(request, obj, change=change, **kwargs)
        form.refusal = getattr(request, "refusal", None)
        if "account" in form.base_fields:
            form.base_fields["account"].required = True  # only managed rows lack one; none are created here
        return form

    def changeform_view(
        self, request: HttpRequest, object_id: object = None, *args: object, **kwargs: object
    ) -> object:
        """Save through the service; what it refuses is shown by the form in a second pass that cannot save."""
        try:
            return super().changeform_view(request, object_id, *args, **kwargs)
        except Problem as problem:
            request.refusal = problem  # type: ignore[attr-defined]
            return super().changeform_view(request, object_id, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Call the service that writes this row."""
        raise PermissionDenied

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        raise Http404

    def history_view(self, request: HttpRequest, object_id: str, extra_context: object = None) -> HttpResponse:
        """Refuse: the audit trail is the history."""
        raise Http404

    # Django's own log knows no account; changes of accounts are in the audit trail, the others in the service's log.
    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Write a line to the service's log."""
        log.info("admin: %s added %s %s", get_actor(request), self.opts.label, obj.pk)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Write a line to the service's log."""
        log.info("admin: %s changed %s %s", get_actor(request), self.opts.label, obj.pk)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:
        """Write a line to the service's log."""
        for obj in queryset:
            log.info("admin: %s deleted %s %s", get_actor(request), self.opts.label, obj.pk)

    def confirm_change(
        self, request: HttpRequest, obj: Any, *, title: str, detail: str, button: str, verb: Callable[[], str]
    ) -> HttpResponse:
        """Confirm a change that is not a form.

        GET renders the question, POST calls the service and shows the result.
        """
        address = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
        if request.method != "POST":
            texts = {"title": title, "detail": detail, "button": button, "back": reverse(address, args=[obj.pk])}
            context = {**self.admin_site.each_context(request), **texts, "opts": self.opts}
            return render(request, "accounts/confirm.html", context)
        try:
            messages.success(request, verb())
        except Problem as problem:
            messages.error(request, problem.detail)
        return redirect(address, obj.pk)

    def writable(self, request: HttpRequest, object_id: str, *, managed: bool = False) -> Any:
        """Return a row that the person may change; 404 for missing and foreign, 403 for the role and managed rows."""
        obj = self.get_object(request, object_id)
        if obj is None:
            raise Http404
        if not has_role(request, self.write_role) or (obj.account_id is None and not managed):
            raise PermissionDenied
        return obj
