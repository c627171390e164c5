"""Admin pages of spans and logs: read only, newest first, found by their ids."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evalsvc.accounts.admin.base import CODE_CLASS, READER, BigTablePaginator, ScopedAdmin, shorten
from evalsvc.telemetry.answers import KINDS, STATUSES
from evalsvc.telemetry.models import LogRecord, Span

MAX_SHOWN = 20_000  # characters of one document on a page; the API has the rest


def document(value: object) -> SafeString | None:
    """Show a JSON document or a text, escaped, cut where it would choke the page."""
    if value in (None, "", {}, []):
        return None
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    note = f"First {MAX_SHOWN:,} of {len(text):,} characters." if len(text) > MAX_SHOWN else ""
    return format_html(
        '<div dir="auto" tabindex="0" class="{}">{}</div><small>{}</small>', CODE_CLASS, text[:MAX_SHOWN], note
    )


class RecordAdmin(ScopedAdmin):
    """What both pages share."""

    view_role = READER
    paginator = BigTablePaginator
    ordering: tuple[str, ...] = ("-id",)
    list_select_related: tuple[str, ...] = ("account",)
    ids: tuple[str, ...] = ("trace_id",)
    """Columns that a search looks into, each at the beginning of an index."""
    heavy: tuple[str, ...] = ("attributes", "resource", "scope_attributes")
    """What a list does not read."""
    search_fields = ("trace_id",)
    sortable_by = ()

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Find by whole ids; a list without heavy columns either way, as only lists come here."""
        rows, term = queryset.defer(*self.heavy), search_term.strip()
        condition = Q()
        for name in self.ids:
            condition |= Q(**{name: term.lower() if name == "trace_id" else term})
        if term.isascii() and term.isdigit() and len(term) < 19:
            condition |= Q(id=int(term))
        return (rows.filter(condition) if term else rows), False

    @admin.display(description="Attributes")
    def attribute_list(self, row: Any) -> SafeString | None:
        """Show the attributes."""
        return document(row.attributes)

    @admin.display(description="Resource")
    def resource_list(self, row: Any) -> SafeString | None:
        """Show who sent it."""
        return document(row.resource)


@admin.register(Span)
class SpanAdmin(RecordAdmin):
    """Operations of traces."""

    list_display = ("short_name", "service_name", "trace_id", "started_at", "duration", "status")
    search_help_text = "Trace id"
    heavy = (*RecordAdmin.heavy, "events", "links", "status_message")
    fields = (
        *("name", "trace_id", "span_id", "parent_span_id", "kind_name", "started_at", "duration", "status"),
        *("message", "service_name", "project_name", "app", "experiment_id", "scope_name", "attribute_list"),
        *("event_list", "link_list", "resource_list", "created_at"),
    )

    @admin.display(description="Name")
    def short_name(self, row: Span) -> str:
        """Return the name, cut for the list."""
        return shorten(row.name) or "(none)"

    @admin.display(description="Kind")
    def kind_name(self, row: Span) -> str:
        """Return the kind in words."""
        return KINDS[row.kind].lower()

    @admin.display(description="Status")
    def status(self, row: Span) -> str:
        """Return the status in words."""
        return STATUSES[row.status_code].lower()

    @admin.display(description="Duration")
    def duration(self, row: Span) -> str:
        """Return how long it took."""
        return f"{row.duration_ns / 1e6:,.1f} ms"

    @admin.display(description="Message")
    def message(self, row: Span) -> SafeString | None:
        """Show the words of the status."""
        return document(row.status_message)

    @admin.display(description="Events")
    def event_list(self, row: Span) -> SafeString | None:
        """Show what happened meanwhile."""
        return document(row.events)

    @admin.display(description="Links")
    def link_list(self, row: Span) -> SafeString | None:
        """Show what it has to do with."""
        return document(row.links)


@admin.register(LogRecord)
class LogRecordAdmin(RecordAdmin):
    """Lines of logs."""

    list_display = ("line", "severity_text", "service_name", "log_id", "trace_id", "occurred_at")
    search_help_text = "Log id or trace id"
    ids = ("log_id", "trace_id")
    heavy = (*RecordAdmin.heavy, "body", "digest")
    fields = (
        *("log_id", "trace_id", "span_id", "severity_text", "occurred_at", "observed_at", "text", "service_name"),
        *("project_name", "app", "experiment_id", "scope_name", "attribute_list", "resource_list", "created_at"),
    )

    @admin.display(description="Log")
    def line(self, row: LogRecord) -> str:
        """Return the line's number, without reading the body: bodies can be megabytes long."""
        return str(row.id)

    @admin.display(description="Body")
    def text(self, row: LogRecord) -> SafeString | None:
        """Return the text of the message."""
        return document(row.body)
