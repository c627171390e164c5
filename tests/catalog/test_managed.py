"""Managed evaluators and profiles: the rows say what the code declares, and only the owner writes them."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import ProgrammingError

from evalsvc.catalog.managed import NAMESPACE, default_profile_name, managed_profiles, sync_managed
from evalsvc.catalog.models import Evaluator, Profile, ProfileRevision
from evalsvc.tenancy.scope import OWNER, account_scope
from evaluators.registry import all_evaluators, families
from tests.conftest import Caller


def snapshot() -> dict[str, list[tuple[Any, ...]]]:
    """Every managed row with all its columns, times and keys included."""
    models: tuple[Any, ...] = (Evaluator, Profile, ProfileRevision)
    return {
        model.__name__: sorted(model.objects.using(OWNER).filter(account=None).values_list(), key=repr)
        for model in models
    }


def test_every_evaluator_has_the_row_that_its_family_declares() -> None:
    rows = {row.evaluator_id: row for row in Evaluator.objects.filter(account=None)}

    assert set(rows) == {spec.id for _, spec in all_evaluators()}
    for family, spec in all_evaluators():
        row = rows[spec.id]
        assert (row.base, row.family) == (spec.id, family.name)
        assert (row.name, row.description, tuple(row.aliases)) == (spec.name, spec.description, spec.aliases)
        assert row.default_profile == default_profile_name(family, spec.default_profile)
        assert (row.is_enabled, row.deprecated) == (True, not spec.aliases)


def test_every_profile_has_the_row_and_the_revisions_that_its_family_declares() -> None:
    declared = {profile.name: (family, profile) for family in families() for profile in family.managed_profiles}
    rows = ProfileRevision.objects.filter(account=None).select_related("profile")
    found: dict[str, list[ProfileRevision]] = {}
    for row in rows.order_by("number"):
        found.setdefault(row.profile.name.removeprefix("patronus:"), []).append(row)

    assert set(found) == set(declared) == set(managed_profiles())
    for name, (family, profile) in declared.items():
        stored = found[name][-1].profile
        assert (stored.name, stored.family, stored.archived_at) == (f"patronus:{name}", family.name, None)
        assert [row.number for row in found[name]] == list(range(1, stored.n_revisions + 1))
        assert [row.settings for row in found[name]] == [*map(dict, profile.earlier), dict(profile.settings)]
        assert {row.description for row in found[name]} == {profile.description}


def test_every_managed_profile_can_be_run_by_its_family() -> None:
    for row in managed_profiles().values():
        assert row.family.check_settings(row.settings) == []


def test_a_default_is_a_profile_of_the_same_family() -> None:
    families_of = {row.name: row.family.name for row in managed_profiles().values()}

    for row in Evaluator.objects.filter(account=None).exclude(default_profile=None):
        assert families_of[str(row.default_profile)] == row.family


def test_ids_come_from_the_names_alone() -> None:
    """Results and clients hold these ids: another value here would orphan what is stored."""
    assert uuid.UUID("6a1c1f0e-4a52-5d0c-9b7e-0d5cf0a0e001") == NAMESPACE
    for row in Profile.objects.filter(account=None):
        assert row.id == uuid.uuid5(NAMESPACE, f"{row.family}/{row.name.removeprefix('patronus:')}")
    for evaluator in Evaluator.objects.filter(account=None):
        assert evaluator.id == uuid.uuid5(NAMESPACE, f"evaluator/{evaluator.evaluator_id}")
    assert {row.id for row in managed_profiles().values()} == set(
        Profile.objects.filter(account=None).values_list("id", flat=True)
    )


def test_writing_the_managed_rows_again_changes_nothing() -> None:
    before = snapshot()
    for _ in range(2):
        sync_managed()

    assert snapshot() == before
    assert all(before.values())


def test_the_managed_rows_are_the_same_for_everyone(alice: Caller, charlie: Caller) -> None:
    seen = []
    for caller in (alice, charlie):
        with account_scope(caller.account.pk):
            seen.append(sorted(Profile.objects.filter(account=None).values_list("id", "name")))
    assert seen[0] == seen[1] != []


@pytest.mark.parametrize("model", [Evaluator, Profile, ProfileRevision])
@pytest.mark.parametrize("deed", ["update", "delete"])
def test_no_account_changes_a_managed_row(alice: Caller, model: Any, deed: str) -> None:
    before = snapshot()
    with account_scope(alice.account.pk):
        rows = model.objects.filter(account=None)
        assert rows.exists()
        # The wall hides the rows from writes: nothing is found to be changed. `_raw_delete` goes past Django's cascade.
        n = rows.update(account_id=alice.account.pk) if deed == "update" else rows._raw_delete("default")
        assert not n

    assert snapshot() == before


@pytest.mark.parametrize(
    "row",
    [
        Evaluator(evaluator_id="forged", base="pii-2026-11-01", family="pii", name="forged"),
        Profile(family="pii", name="patronus:forged"),
    ],
)
def test_no_account_makes_a_managed_row(alice: Caller, row: Any) -> None:
    with pytest.raises(ProgrammingError, match="row-level security"), account_scope(alice.account.pk):
        row.save(force_insert=True)


def test_no_account_adds_a_revision_to_a_managed_profile(alice: Caller) -> None:
    profile = Profile.objects.filter(account=None)[0]

    with pytest.raises(ProgrammingError, match="row-level security"), account_scope(alice.account.pk):
        ProfileRevision.objects.create(account=None, profile=profile, number=2, settings={})
