"""Look-alike names in an account, and the merge of projects with the same name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.db import IntegrityError
from django.db.models import Model

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import forget_caches, record_audit
from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.datasets.models import Dataset
from evalsvc.evaluations.models import Evaluation, EvaluationRequest, HistoryScore
from evalsvc.events.models import EventEndpoint
from evalsvc.projects.models import App, Experiment, Project
from evalsvc.prompts.models import Prompt
from evalsvc.rest.bodies.names import bare_name
from evalsvc.tenancy.scope import account_scope

# Each kind of named thing, and the attribute within which its names are unique.
KINDS: dict[str, tuple[type[Model], str]] = {
    "projects": (Project, "account_id"),
    "apps": (App, "account_id"),
    "datasets": (Dataset, "account_id"),
    "prompts": (Prompt, "project_id"),
    "annotation criteria": (AnnotationCriteria, "project_id"),
}
IN_PROJECTS: tuple[type[Model], ...] = (
    Experiment,
    Prompt,
    AnnotationCriteria,
    EvaluationRequest,
    Evaluation,
    HistoryScore,
)


@dataclass(frozen=True, slots=True)
class LookAlikes:
    """Objects of one kind with look-alike names; the one to retain is first."""

    kind: str
    rows: tuple[Any, ...]


class NotMerged(Exception):
    """Two projects contain objects with the same name; the message gives the kind."""


def find_look_alikes(account: Account) -> Iterator[LookAlikes]:
    """Find an account's look-alike names. Requires the account's scope."""
    for kind, (model, within) in KINDS.items():
        rows = model._default_manager.filter(account=account).order_by("pk")
        if model is AnnotationCriteria:
            rows = rows.filter(archived_at=None)
        for alike in _alike(rows, attrgetter(within)):
            yield LookAlikes(kind, tuple(alike))


def _alike(rows: Any, within: Callable[[Any], Hashable]) -> Iterator[list[Any]]:
    groups: dict[Hashable, list[Any]] = {}
    for row in rows:
        groups.setdefault((within(row), bare_name(row.name)), []).append(row)
    for alike in groups.values():
        if len(alike) > 1:
            # The one that requests find by the plain name stays; else the oldest.
            yield sorted(alike, key=lambda row: (row.name != bare_name(row.name), row.created_at))


def merge_projects(account: Account, kept: Project, others: tuple[Project, ...]) -> int:
    """Move everything of some projects to another one, which gets the plain name; return how many rows moved.

    Raises NotMerged, and changes nothing, where both have prompts or annotation criteria of one name.
    """
    ids = [row.pk for row in others]
    try:
        with account_scope(account.pk):
            # Captures, and requests that create an experiment, wait or find the projects deleted.
            list(Project.objects.select_for_update().filter(account=account, pk__in=[kept.pk, *ids]).order_by("pk"))
            n = sum(
                model._default_manager.filter(account=account, project_id__in=ids).update(project_id=kept.pk)
                for model in IN_PROJECTS
            )
            n += _rewrite_rules(account, {str(id) for id in ids}, str(kept.pk))
            Project.objects.filter(account=account, pk__in=ids).delete()
            Project.objects.filter(account=account, pk=kept.pk).update(name=bare_name(kept.name))
            for row in others:
                into = str(kept.pk)
                record_audit(account=account, actor="system", action="project.merged", target=str(row.pk), into=into)
            forget_caches(account.pk)
    except IntegrityError:
        raise NotMerged("both have prompts or annotation criteria of one name; rename or delete one of each") from None
    return n


def _rewrite_rules(account: Account, gone: set[str], kept: str) -> int:
    n = 0
    for row in EventEndpoint.objects.select_for_update().filter(account=account):
        ids = row.rules.get("project_ids") or []
        if gone & set(ids):
            rules = row.rules | {"project_ids": list(dict.fromkeys(kept if id in gone else id for id in ids))}
            n += EventEndpoint.objects.filter(pk=row.pk).update(rules=rules)
    return n
