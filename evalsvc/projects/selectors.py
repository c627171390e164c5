"""Reads of projects, apps and experiments."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from django.db.models import CharField, F, ForeignObjectRel, Func, Q, QuerySet, Value
from django.db.models.functions import Cast

from evalsvc.accounts.models import Account
from evalsvc.projects.models import App, Experiment, Project
from evalsvc.rest.bodies.names import spell_name
from evalsvc.rest.problems import NotFound

# Registered by apps above this one, with tables that reference a project without a foreign key. Each returns a
# description of what it has in the project, or None.
uses: list[Callable[[Project], str | None]] = []


def find_experiment(*, account_id: int, id: int) -> Experiment | None:
    """Return an experiment of the account, or None for missing and foreign alike."""
    return Experiment.objects.filter(account_id=account_id, id=id).first()


def find_project(*, account_id: int, id: uuid.UUID) -> Project | None:
    """Return a project of the account, or None for missing and foreign alike."""
    return Project.objects.filter(account_id=account_id, id=id).first()


def find_named_project(*, account_id: int, name: str) -> Project | None:
    """Return the project with a name, which might be stored in another spelling:

    earlier releases stored names as sent.
    """
    spelled = spell_name(name)
    normalized = Func(F("name"), template="normalize(%(expressions)s, NFC)", output_field=CharField())
    rows = Project.objects.filter(account_id=account_id).annotate(spelled=normalized)
    candidates = rows.filter(Q(spelled=spelled) | Q(name=name))
    return min(candidates, key=lambda row: (row.name != spelled, row.name != name, row.created_at), default=None)


def get_project(*, account: Account, id: uuid.UUID, lock: bool = False) -> Project:
    """Return a project of the account; NotFound for missing and foreign alike. `lock` locks it for the transaction."""
    rows = Project.objects.filter(account=account, id=id)
    project = (rows.select_for_update() if lock else rows).first()
    if project is None:
        raise NotFound
    return project


def list_projects(*, account: Account) -> QuerySet[Project]:
    """Return the account's projects, newest first."""
    return Project.objects.filter(account=account).order_by("-created_at", "-id")


def list_apps(*, account: Account) -> QuerySet[App]:
    """Return the account's apps by name."""
    return App.objects.filter(account=account).order_by("name")


def list_places(*, account: Account, most: int) -> tuple[list[tuple[str, str]], list[str]]:
    """Return (id, name) of the newest projects, and the first apps by name, up to `most` of each: in one query."""
    id = Cast(F("id"), CharField())
    projects = list_projects(account=account).annotate(kind=Value("project"), key=id)
    apps = list_apps(account=account).annotate(kind=Value("app"), key=Value(""))
    columns = ("kind", "key", "name")
    # UNION ALL preserves the order of each half: it neither sorts nor removes duplicates.
    rows = projects.values_list(*columns)[:most].union(apps.values_list(*columns)[:most], all=True)
    places = [(str(kind), str(key), str(name)) for kind, key, name in rows]
    return [(key, name) for kind, key, name in places if kind == "project"], [
        name for kind, _, name in places if kind == "app"
    ]


def list_project_uses(*, project: Project) -> list[str]:
    """List what still belongs to a project, each kind as `2 experiments`."""
    descriptions = []
    for field in Project._meta.get_fields(include_hidden=True):
        if isinstance(field, ForeignObjectRel):
            meta = field.related_model._meta
            if n := field.related_model._default_manager.filter(**{field.field.name: project}).count():
                descriptions.append(f"{n} {meta.verbose_name if n == 1 else meta.verbose_name_plural}")
    return descriptions + [text for use in uses if (text := use(project))]
