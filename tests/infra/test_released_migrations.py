"""A database of the release before takes squashed migrations for applied, and that release knows one that they made."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

RECORDED = Path(__file__).with_name("released_migrations.txt")
"""The migrations of 0.4.0: what its `migrate` notes in a database."""


@pytest.fixture
def released() -> set[tuple[str, str]]:
    lines = RECORDED.read_text("utf-8").splitlines()
    return {(app, name) for app, _, name in (line.partition(".") for line in lines)}


@pytest.fixture
def pending(released: set[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """What `migrate` would apply to a database of the release before, other packages' migrations left out."""
    loader = MigrationLoader(None)
    others = {key: loader.graph.nodes[key] for key in loader.graph.nodes if not is_ours(loader, key)}
    monkeypatch.setattr(
        MigrationRecorder, "applied_migrations", lambda self: dict.fromkeys(released) | dict.fromkeys(others)
    )
    loader = MigrationLoader(connections["owner"])
    loader.check_consistent_history(connections["owner"])
    return loader.graph.nodes.keys() - loader.applied_migrations.keys()


def is_ours(loader: MigrationLoader, key: tuple[str, str]) -> bool:
    return type(loader.graph.nodes[key]).__module__.startswith("evalsvc.")


def test_only_later_migrations_are_applied_to_its_database(pending: set[tuple[str, str]]) -> None:
    on_disk = MigrationLoader(None).disk_migrations or {}

    assert ("accounts", "0010_people") in pending
    assert [key for key in pending if on_disk[key].replaces] == []


def test_a_new_database_has_its_migrations_applied(released: set[tuple[str, str]]) -> None:
    """So its `migrate` has none to do, when somebody goes back."""
    assert len(released) == 100
    assert released - MigrationRecorder(connections["owner"]).applied_migrations().keys() == set()


def test_going_back_undoes_no_migration_of_another_app() -> None:
    """`migrate accounts 0001` gives the former rights back; what the later version wrote stays."""
    executor = MigrationExecutor(connections["owner"])
    plan = executor.migration_plan([("accounts", "0001_squashed_0009_require_second_factor")])

    assert [(migration.app_label, backwards) for migration, backwards in plan] == [("accounts", True)] * 2
