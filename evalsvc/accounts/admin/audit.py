"""Admin page of the audit trail."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from evalsvc.accounts.admin.base import ADMIN, BigTablePaginator, ScopedAdmin
from evalsvc.accounts.models import AuditEntry
from evalsvc.accounts.selectors import annotate_actors


@admin.register(AuditEntry)
class AuditEntryAdmin(ScopedAdmin):
    """The audit trail, newest first; read-only."""

    view_role = ADMIN
    list_display = ("created_at", "who", "action", "target")
    list_select_related = ("account",)
    fields = ("created_at", "who", "action", "target", "detail")
    ordering = ("-id",)
    sortable_by = ()
    paginator = BigTablePaginator
    search_fields = ("action__startswith", "target__startswith")
    search_help_text = "Beginning of an action or target"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Name people by e-mail; an operator's address is none of an account's business."""
        return annotate_actors(super().get_queryset(request), "actor")

    @admin.display(description="Who")
    def who(self, entry: Any) -> str:
        """Return the person, key or `system`."""
        return str(entry.who)
