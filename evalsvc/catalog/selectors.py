"""Reads of evaluators and profiles: an account's own and the managed ones."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import F, Q, QuerySet

from evalsvc.accounts.models import Account
from evalsvc.catalog.managed import OLD_PREFIX, PREFIX, managed_aliases
from evalsvc.catalog.models import Evaluator, Profile, ProfileRevision
from evalsvc.rest.problems import NotFound


def visible(account: Account | int) -> Q:
    """Return the filter for the account's rows and the managed ones."""
    return Q(account=account) | Q(account=None)


def list_evaluators(
    *, account: Account, by_alias_or_id: str | None = None, include_deprecated: bool = True
) -> list[Evaluator]:
    """Return the evaluators that the account can run.

    `by_alias_or_id` selects one evaluator at most, deprecated or not: the one with this id or alias, else the
    family's first.
    """
    rows = Evaluator.objects.filter(visible(account))
    if by_alias_or_id:
        rows = rows.filter(
            Q(evaluator_id=by_alias_or_id) | Q(aliases__contains=[by_alias_or_id]) | Q(family=by_alias_or_id)
        )
    elif not include_deprecated:
        rows = rows.filter(deprecated=False)
    # Own evaluators first: one of them hides a managed evaluator of the same name, here as when it is run.
    evaluators = list(rows.order_by(F("account").asc(nulls_last=True), "family", "evaluator_id"))
    if by_alias_or_id and len(evaluators) > 1:
        exact = [row for row in evaluators if by_alias_or_id in (row.evaluator_id, *row.aliases)]
        evaluators = (exact or evaluators)[:1]
    return evaluators


def get_evaluator(*, account: Account, id: str) -> Evaluator:
    """Return an evaluator by its id, the account's own or a managed one; NotFound for missing and foreign."""
    rows = Evaluator.objects.filter(visible(account), evaluator_id=id)
    evaluator = rows.order_by(F("account").asc(nulls_last=True)).first()
    if evaluator is None:
        raise NotFound
    return evaluator


_is_last = Q(number=F("profile__n_revisions"))


def list_revisions(*, account: Account, filters: Mapping[str, Any]) -> QuerySet[ProfileRevision]:
    """Return profile revisions, newest first, by the filters of GET /v1/evaluator-criteria."""
    rows = ProfileRevision.objects.filter(visible(account)).select_related("profile")
    rows = (
        rows.filter(profile__archived_at=None)
        if filters.get("enabled", True)
        else rows.exclude(profile__archived_at=None)
    )
    if name := filters.get("name"):
        rows = rows.filter(profile__name__in=spellings(name))
    if family := filters.get("evaluator_family"):
        rows = rows.filter(profile__family=family)
    if public_id := filters.get("public_id"):
        rows = rows.filter(profile_id=public_id)
    if (revision := filters.get("revision")) is not None:
        rows = rows.filter(number=revision)
    else:
        # Clients take a family's default from this list where it has one managed row alone.
        rows = rows.filter(Q(account__isnull=False) | _is_last)
    if (managed := filters.get("is_patronus_managed")) is not None:
        rows = rows.filter(account__isnull=managed)
    if filters.get("get_last_revision"):
        rows = rows.filter(_is_last)
    return rows.order_by(F("account").asc(nulls_last=True), "profile__created_at", "profile_id", "-number")


def spellings(name: str) -> list[str]:
    """Return the stored names that a client may mean by `name`. Prefixes and aliases are resolved."""
    bare = name.removeprefix(PREFIX).removeprefix(OLD_PREFIX)
    managed = PREFIX + managed_aliases().get(bare, bare)
    return [name, managed] if bare == name else [managed]


def get_profile(*, account: Account, id: uuid.UUID) -> Profile:
    """Return one of the account's own profiles; NotFound for missing, foreign and managed."""
    profile = Profile.objects.filter(account=account, id=id).first()
    if profile is None:
        raise NotFound
    return profile


def list_evaluator_ids(account_id: int, families: Collection[str]) -> set[str]:
    """Return the ids of all evaluators of these families, disabled ones included.

    Every stored score finds its evaluator among them, because no evaluator is ever deleted or renamed.
    """
    rows = Evaluator.objects.filter(visible(account_id), family__in=families)
    return set(rows.values_list("evaluator_id", flat=True))


def profile_names(account_id: int, ids: Collection[uuid.UUID]) -> set[str]:
    """Return the names of profiles, archived ones too.

    A name belongs to one profile for ever, because no profile is deleted or renamed.
    """
    return set(Profile.objects.filter(visible(account_id), id__in=ids).values_list("name", flat=True))


def get_visible_profile(*, account: Account, id: uuid.UUID) -> Profile:
    """Return one of the account's own profiles or a managed one; NotFound for missing and foreign."""
    profile = Profile.objects.filter(visible(account), id=id).first()
    if profile is None:
        raise NotFound
    return profile


def list_profile_revisions(*, account: Account, profile: Profile) -> list[ProfileRevision]:
    """Return a profile's frozen states, the newest first."""
    rows = ProfileRevision.objects.filter(visible(account), profile=profile).select_related("profile")
    return list(rows.order_by("-number"))
