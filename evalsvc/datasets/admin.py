"""Admin pages of datasets and their versions: read only; rows come by upload, and what is frozen stays so."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evalsvc.accounts.admin.base import CODE_CLASS, READER, TEXT_CLASS, ScopedAdmin, shorten
from evalsvc.datasets.exports import text_or_json
from evalsvc.datasets.models import Dataset, DatasetVersion
from evalsvc.datasets.selectors import list_examples, list_versions

N_SHOWN = 20
MAX_SHOWN = 500


def table(header: tuple[str, ...], rows: Any) -> SafeString:
    """Render rows as an HTML table; each cell is escaped and has its own text direction."""
    heads = format_html_join("", '<th scope="col">{}</th>', ((name,) for name in header))
    lines = ((format_html_join("", '<td><div dir="auto">{}</div></td>', ((cell,) for cell in row)),) for row in rows)
    body = format_html_join("", "<tr>{}</tr>", lines)
    return format_html(
        '<div tabindex="0" class="{}"><table class="evalsvc-cells"><tr>{}</tr>{}</table></div>', TEXT_CLASS, heads, body
    )


def json_box(document: object) -> SafeString:
    """Show a document as indented JSON."""
    return format_html(
        '<div tabindex="0" class="{}">{}</div>', CODE_CLASS, json.dumps(document, indent=2, ensure_ascii=False)
    )


@admin.register(Dataset)
class DatasetAdmin(ScopedAdmin):
    """Names of example lists."""

    view_role = READER
    list_display = ("name", "n_versions", "created_at")
    list_select_related = ("account",)
    ordering = ("-created_at", "id")
    search_fields = ("name", "id__iexact")
    search_help_text = "Name or id"
    fields = readonly_fields = ("name", "description", "id", "versions", "created_at")

    @admin.display(description="Newest versions")
    def versions(self, dataset: Dataset) -> SafeString:
        """Return the newest versions, each with a link to its page."""
        rows = list_versions(account=dataset.account, dataset=dataset)[:N_SHOWN]
        cells = ((link_to(row), row.n_examples, row.get_format_display(), row.created_at) for row in rows)
        return table(("Version", "Examples", "Format", "Created at"), cells)


def link_to(version: DatasetVersion) -> SafeString:
    """Return a link to a version's page."""
    address = reverse("admin:datasets_datasetversion_change", args=[version.pk])
    return format_html('<a href="{}" class="evalsvc-link">{}</a>', address, f"v{version.number}")


@admin.register(DatasetVersion)
class DatasetVersionAdmin(ScopedAdmin):
    """Frozen lists of examples."""

    view_role = READER
    list_display = ("__str__", "n_examples", "format", "created_at")
    list_select_related = ("account", "dataset")
    ordering = ("-id",)
    search_fields = ("dataset__name", "content_hash__iexact")
    search_help_text = "Name of the dataset, or the content's hash"
    fields = readonly_fields = (
        *("dataset", "number", "n_examples", "format", "content_hash", "inputs", "expecteds", "examples"),
        "created_at",
    )

    @admin.display(description="Schema of the inputs")
    def inputs(self, version: DatasetVersion) -> SafeString:
        """Return the schema of the inputs."""
        return json_box(version.input_schema)

    @admin.display(description="Schema of the expected values")
    def expecteds(self, version: DatasetVersion) -> SafeString:
        """Return the schema of the expected values."""
        return json_box(version.expected_schema)

    @admin.display(description=f"First {N_SHOWN} examples")
    def examples(self, version: DatasetVersion) -> SafeString:
        """Return the first examples, each cut."""
        rows = list_examples(account=version.account, version=version)[:N_SHOWN]
        cells = ([shown(value) for value in (row.key, row.input, row.expected, row.contexts)] for row in rows)
        return table(("Id", "Input", "Expected", "Contexts"), cells)


def shown(value: object) -> str:
    """Return a value as text, cut."""
    return shorten(text_or_json(value), MAX_SHOWN)
