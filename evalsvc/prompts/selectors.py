"""Reads of prompts and their revisions."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Prefetch, QuerySet
from django.db.models.functions import Length

from evalsvc.accounts.models import Account
from evalsvc.prompts.models import Prompt, PromptLabel, PromptRevision
from evalsvc.rest.bodies.names import list_spellings
from evalsvc.rest.problems import NotFound

MAX_ANSWER_CHARACTERS = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PromptFilters:
    """The filters of a list of prompts; None matches all."""

    project_id: uuid.UUID | None = None
    project_name: str | None = None
    prompt_id: uuid.UUID | None = None
    name: str | None = None
    name_startswith: str | None = None

    def conditions(self, prefix: str = "") -> dict[str, Any]:
        """Return the conditions on a prompt, or on what has one under `prefix`."""
        lookups = {
            "project_id": self.project_id,
            "project__name__in": None if self.project_name is None else list_spellings(self.project_name),
            "id": self.prompt_id,
            "name__in": None if self.name is None else list_spellings(self.name),
            "name__startswith": self.name_startswith,
        }
        return {prefix + name: value for name, value in lookups.items() if value is not None}


@dataclass(frozen=True, slots=True)
class RevisionFilters:
    """The filters of a list of revisions, in addition to those on their prompts."""

    id: uuid.UUID | None = None
    number: int | None = None
    label: str | None = None
    body_sha256: str | None = None
    """The beginning of the digest is enough."""
    latest_only: bool = False

    def conditions(self) -> dict[str, Any]:
        """Return the conditions on a revision."""
        lookups = {
            "id": self.id,
            "number": self.number,
            "labels__name": self.label,
            "body_sha256__startswith": None if self.body_sha256 is None else self.body_sha256.lower(),
            "number__exact": F("prompt__n_revisions") if self.latest_only else None,
        }
        return {name: value for name, value in lookups.items() if value is not None}


def list_prompts(*, account: Account, filters: PromptFilters) -> QuerySet[Prompt]:
    """Return the account's prompts, newest first."""
    rows = Prompt.objects.filter(account=account, **filters.conditions()).select_related("project")
    return rows.order_by("-created_at", "id")


def get_prompt(*, account: Account, id: uuid.UUID, lock: bool = False) -> Prompt:
    """Return a prompt of the account; NotFound for missing and foreign. `lock` locks it for the transaction."""
    rows = Prompt.objects.filter(account=account, id=id).select_related("project")
    prompt = (rows.select_for_update(of=("self",)) if lock else rows).first()
    if prompt is None:
        raise NotFound
    return prompt


def list_prompt_revisions(*, account: Account, of: PromptFilters, filters: RevisionFilters) -> QuerySet[PromptRevision]:
    """Return revisions with their prompts and labels: the newest prompt first, of each the newest revision first."""
    rows = PromptRevision.objects.filter(account=account, **of.conditions("prompt__"), **filters.conditions())
    # By number and not by time: of two that are made at once, the one that waited may have begun first.
    return _prefetch_labels(rows).order_by("-prompt__created_at", "prompt_id", "-number")


def page_of_revisions(rows: QuerySet[PromptRevision], *, limit: int, offset: int) -> list[PromptRevision]:
    """Return a page; fewer than `limit` where the texts of the answer would grow too large, yet always one."""
    sizes = rows.annotate(n_characters=Length("body")).values_list("id", "n_characters")[offset : offset + limit]
    ids: list[uuid.UUID] = []
    remaining = MAX_ANSWER_CHARACTERS
    for id, size in sizes:
        remaining -= size
        if ids and remaining < 0:
            break
        ids.append(id)
    return list(rows.filter(id__in=ids)) if ids else []


def get_prompt_revision(*, account: Account, id: uuid.UUID) -> PromptRevision:
    """Return a revision of the account with its prompt and labels; NotFound for missing and foreign."""
    row = _prefetch_labels(PromptRevision.objects.filter(account=account, id=id)).first()
    if row is None:
        raise NotFound
    return row


def _prefetch_labels(rows: QuerySet[PromptRevision]) -> QuerySet[PromptRevision]:
    labels = Prefetch("labels", PromptLabel.objects.order_by("name"))
    return rows.select_related("prompt__project").prefetch_related(labels)
