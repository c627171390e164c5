"""Migrations are passed by when nothing could come of them, and only then."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest

from evalsvc.local.supervisor import schema
from evalsvc.local.supervisor.demo import accounts
from evalsvc.local.supervisor.schema import Unknowable, is_migrated, note_migrated, schema_digest

CHECKOUT = Path(schema.__file__).resolve().parents[3]


@pytest.fixture
def owner() -> Iterator[str]:
    url = os.environ["DATABASE_MIGRATION_URL"]
    yield url
    with psycopg.connect(url) as connection:
        connection.execute("COMMENT ON TABLE django_migrations IS NULL")


def test_what_has_been_migrated_is_known_by_its_digest(owner: str) -> None:
    assert not is_migrated(owner, "a")
    note_migrated(owner, "a")
    assert is_migrated(owner, "a")
    assert not is_migrated(owner, "b")


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM django_migrations WHERE app = 'evaluations' AND name LIKE '0002%'",
        "INSERT INTO django_migrations (app, name, applied) VALUES ('evaluations', '9999_by_hand', now())",
    ],
)
def test_a_step_taken_by_hand_is_seen(owner: str, change: str) -> None:
    note_migrated(owner, "a")
    with psycopg.connect(owner) as connection:
        kept = connection.execute("SELECT app, name, applied FROM django_migrations ORDER BY id").fetchall()
        connection.execute(change)
        connection.commit()
        try:
            assert not is_migrated(owner, "a")
        finally:
            connection.execute("DELETE FROM django_migrations")
            insert = "INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, %s)"
            connection.cursor().executemany(insert, kept)
    assert is_migrated(owner, "a")


def test_a_database_without_tables_is_not_migrated(servers: Any) -> None:
    assert not is_migrated(servers.postgres.url, "a")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("evalsvc/catalog/migrations", "evalsvc/evaluations/sql", "evaluators/families", "requirements"):
        shutil.copytree(CHECKOUT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize(
    "path",
    [
        "evalsvc/catalog/migrations/9999_new.py",
        "evalsvc/evaluations/sql/history.sql",
        "evaluators/families/phi.py",
        "requirements/runtime.txt",
    ],
)
def test_whatever_decides_what_a_migration_writes_changes_the_digest(checkout: Path, path: str) -> None:
    before = schema_digest(checkout)
    with (checkout / path).open("a") as file:
        file.write("# changed")
    assert schema_digest(checkout) != before


def test_a_file_that_no_migration_reads_changes_nothing(checkout: Path) -> None:
    before = schema_digest(checkout)
    (checkout / "evalsvc" / "urls.py").write_text("")
    assert schema_digest(checkout) == before


def test_a_package_in_somebodys_checkout_is_migrated_each_time(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Distribution:
        name, version = "mine", "1"

        def read_text(self, name: str) -> str:
            return '{"dir_info": {"editable": true}, "url": "file:///mine"}'

    class Point:
        value, dist = "mine:Family", Distribution()

    monkeypatch.setattr(schema, "entry_points", lambda group: [Point()])
    with pytest.raises(Unknowable, match="mine:Family"):
        schema_digest(checkout)


def test_the_demo_accounts_are_missed_when_one_is_gone() -> None:
    from django.core.management import call_command

    from evalsvc.accounts.models import User
    from evalsvc.ops.management.commands.seed_demo import demo_file

    system = os.environ["DATABASE_SYSTEM_URL"]
    call_command("seed_demo", "--json", stdout=StringIO())
    values = accounts.load_demo_values(demo_file())
    assert values is not None
    assert accounts.is_seeded(system, values)
    gone = User.objects.using("system").filter(email=accounts.MEMBERS[1][1])
    gone.update(email="elsewhere@example.com")
    assert not accounts.is_seeded(system, values)
    User.objects.using("system").filter(email="elsewhere@example.com").update(email=accounts.MEMBERS[1][1])
    assert accounts.load_demo_values(Path("/no/such/file")) is None
