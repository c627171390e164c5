"""Admin pages of projects, apps and experiments. They are read only: rows are made by the requests that name them."""

from __future__ import annotations

from django.contrib import admin

from evalsvc.accounts.admin.base import READER, ScopedAdmin
from evalsvc.projects.models import App, Experiment, Project


class PlaceAdmin(ScopedAdmin):
    """What the three pages share."""

    view_role = READER
    list_display: tuple[str, ...] = ("name", "id", "created_at")
    list_select_related: tuple[str, ...] = ("account",)
    ordering: tuple[str, ...] = ("name", "id")
    search_fields = ("name", "id__iexact")
    search_help_text = "Name or id"


@admin.register(Project)
class ProjectAdmin(PlaceAdmin):
    """Groups of apps and experiments."""

    fields = ("name", "id", "created_at")


@admin.register(App)
class AppAdmin(PlaceAdmin):
    """Applications with responses to evaluate."""

    fields = ("name", "id", "created_at")


@admin.register(Experiment)
class ExperimentAdmin(PlaceAdmin):
    """Named series of evaluations."""

    list_display = ("name", "project", "id", "created_at")
    list_select_related = ("account", "project")
    ordering = ("-id",)
    fields = ("name", "id", "project", "tags", "metadata", "created_at")
