"""Managed evaluators and profiles: declared by the families in code, written as rows for joins and search."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import cache

from evalsvc.catalog.models import Evaluator, Profile, ProfileRevision
from evalsvc.tenancy.scope import OWNER
from evaluators.base import Family, ManagedProfile, Settings
from evaluators.registry import all_evaluators, families

PREFIX = "patronus:"
OLD_PREFIX = "system:"
# Ids must be the same in every process and after every restart, so they are derived from the names.
NAMESPACE = uuid.UUID("6a1c1f0e-4a52-5d0c-9b7e-0d5cf0a0e001")


@dataclass(frozen=True, slots=True)
class ManagedRow:
    """A managed profile with the id and full name it has on the wire."""

    id: uuid.UUID
    family: Family
    profile: ManagedProfile

    @property
    def name(self) -> str:
        """Return the full name."""
        return PREFIX + self.profile.name

    @property
    def settings(self) -> Settings:
        """Return the settings of its last revision."""
        return self.profile.settings

    @property
    def revisions(self) -> tuple[Settings, ...]:
        """Return the settings of every revision, the first one first."""
        return (*self.profile.earlier, self.profile.settings)


@cache
def managed_profiles() -> dict[str, ManagedRow]:
    """Return every managed profile by its bare name."""
    return {
        profile.name: ManagedRow(uuid.uuid5(NAMESPACE, f"{family.name}/{profile.name}"), family, profile)
        for family in families()
        for profile in family.managed_profiles
    }


@cache
def managed_aliases() -> dict[str, str]:
    """Return the aliases of managed profiles, without prefix, each with the name of its profile."""
    return {alias: row.profile.name for row in managed_profiles().values() for alias in row.profile.aliases}


def managed_names() -> set[str]:
    """Return the bare names that an account's own profiles may not take."""
    return {*managed_profiles(), *managed_aliases()}


def sync_managed() -> None:
    """Write the managed rows as the owner; what results point to is never rewritten."""
    for family, spec in all_evaluators():
        Evaluator.objects.using(OWNER).update_or_create(
            account=None,
            evaluator_id=spec.id,
            defaults={
                "id": uuid.uuid5(NAMESPACE, f"evaluator/{spec.id}"),
                "base": spec.id,
                "family": family.name,
                "name": spec.name,
                "description": spec.description,
                "aliases": list(spec.aliases),
                "default_profile": default_profile_name(family, spec.default_profile),
            },
        )
        # Accounts that have switched it on or off have a row of their own.
        Evaluator.objects.using(OWNER).filter(evaluator_id=spec.id, base=spec.id).update(
            deprecated=spec.replaced_by is not None
        )
    for row in managed_profiles().values():
        _sync_profile(row)


def _sync_profile(row: ManagedRow) -> None:
    profile, _ = Profile.objects.using(OWNER).update_or_create(
        id=row.id,
        defaults={"n_revisions": len(row.revisions)},
        create_defaults={
            "account": None,
            "family": row.family.name,
            "name": row.name,
            "n_revisions": len(row.revisions),
        },
    )
    for number, settings in enumerate(row.revisions, start=1):
        ProfileRevision.objects.using(OWNER).get_or_create(
            profile=profile,
            number=number,
            defaults={"account": None, "settings": dict(settings), "description": row.profile.description},
        )


def default_profile_name(family: Family, declared: str | None) -> str | None:
    """Return the full name of the profile that is meant when none is named: the declared one, else the only one."""
    if declared is not None:
        return PREFIX + declared
    if len(family.managed_profiles) == 1:
        return PREFIX + family.managed_profiles[0].name
    return None
