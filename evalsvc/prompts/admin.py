"""Admin pages of prompts and their revisions: read only; programs push them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evalsvc.accounts.admin.base import CODE_CLASS, READER, ScopedAdmin, shorten
from evalsvc.prompts.evidence import evidence_from, format_evidence
from evalsvc.prompts.models import Prompt, PromptRevision


@admin.register(Prompt)
class PromptAdmin(ScopedAdmin):
    """Prompts by name."""

    view_role = READER
    list_display = ("name", "project", "n_revisions", "updated_at")
    list_select_related = ("account", "project")
    ordering = ("-created_at", "id")
    sortable_by = ("name", "updated_at")
    search_fields = ("name", "id__iexact")
    search_help_text = "Name or whole id"
    fields = readonly_fields = ("name", "project", "description", "n_revisions", "id", "created_at", "updated_at")


@admin.register(PromptRevision)
class PromptRevisionAdmin(ScopedAdmin):
    """Frozen texts of prompts."""

    view_role = READER
    list_display = ("__str__", "label_names", "beginning", "created_at")
    list_select_related = ("account", "prompt")
    ordering = ("-created_at", "id")
    sortable_by = ("created_at",)
    search_fields = ("prompt__name", "labels__name", "id__iexact")
    search_help_text = "Name of the prompt, label or whole id"
    fields = readonly_fields = (
        "prompt",
        "number",
        "label_names",
        "label_evidence",
        "text",
        "metadata",
        "body_sha256",
        "id",
        "created_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Bring the labels along."""
        return super().get_queryset(request).prefetch_related("labels")

    @admin.display(description="Labels")
    def label_names(self, row: PromptRevision) -> str:
        """Return the labels that are at this revision."""
        return ", ".join(sorted(label.name for label in row.labels.all())) or "-"

    @admin.display(description="What labels rest on")
    def label_evidence(self, row: PromptRevision) -> str:
        """Return which experiments its labels were given by."""
        labels = sorted(row.labels.all(), key=lambda label: label.name)
        entries = [
            (label.name, format_evidence(evidence_from(label.evidence)))
            for label in labels
            if label.evidence is not None
        ]
        return format_html_join("", '<div dir="auto">{}: {}</div>', entries) or "-"

    @admin.display(description="Text")
    def beginning(self, row: PromptRevision) -> str:
        """Return the beginning of the text."""
        return shorten(row.body)

    @admin.display(description="Text")
    def text(self, row: PromptRevision) -> SafeString:
        """Return the whole text."""
        return format_html('<div dir="auto" tabindex="0" class="{}">{}</div>', CODE_CLASS, row.body)
