"""An upgraded database has what a new one has, and the release before finds in both what it needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests import services
from tests.deploy.upgrade.releases import Release, unpacked_previous
from tests.growth.databases import MIGRATE, Database, new_database, schema_of

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(900)]

LEFT_TO_THE_LAST_RELEASE = (
    "capture_batch(jsonb, bigint[], text[], text[], text[])",
    "capture_evaluations(bigint, jsonb, jsonb, double precision, text[], text[], text[], boolean)",
    "latest_scores(bigint, text[], text[], text[], bigint)",
    "postpone_judging(bigint[], int[], double precision[], double precision)",
    "promote_scores(bigint, text[], text[], bigint, bigint)",
    "scoped_scores(bigint, text[], text[], jsonb, bigint)",
)
"""What an upgrade leaves to processes of 0.4, and a new database does not have. The version after the next may drop it."""
ROWS = {
    "migrations": "SELECT app, name FROM django_migrations",
    "permissions": (
        "SELECT app_label, model, codename, p.name FROM auth_permission p"
        " JOIN django_content_type t ON t.id = p.content_type_id"
    ),
    "evaluators": "SELECT evaluator_id, base, family, aliases, default_profile FROM catalog_evaluator",
    "partitions": "SELECT parent, (partitions_of(parent)).* FROM partitioned_tables()",
}
"""What migrations and `migrate` write, without ids and times."""


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return unpacked_previous(tmp_path_factory.mktemp("releases") / "previous")


@pytest.fixture
def databases() -> Iterator[tuple[Database, Database]]:
    with ExitStack() as exits:
        made = [exits.enter_context(new_database(services.servers.postgres.url)) for _ in range(2)]
        yield made[0], made[1]


def statements_of(database: Database) -> set[str]:
    """Return the schema without the list of functions that were ever installed."""
    return {text for text in schema_of(database) if "RETURN ARRAY[" not in text and "installed_functions" not in text}


def rows_of(database: Database) -> dict[str, set[Any]]:
    with database.connect("owner") as owner:
        return {name: {str(row) for row in owner.execute(sql).fetchall()} for name, sql in ROWS.items()}


def test_an_upgraded_database_has_what_a_new_one_has(old: Release, databases: tuple[Database, Database]) -> None:
    upgraded, new = databases
    old.run(*("manage.py", *MIGRATE), env=os.environ | upgraded.urls)
    upgraded.migrate()
    new.migrate()
    with upgraded.connect("owner") as owner:
        for function in LEFT_TO_THE_LAST_RELEASE:
            owner.execute(f"DROP FUNCTION IF EXISTS {function}")

    there, here = statements_of(upgraded), statements_of(new)
    assert there - here == here - there == set()
    assert len(here) > 500
    assert rows_of(upgraded) == rows_of(new)
    assert '"n"' not in upgraded.run("verify", "--json")


def test_the_release_before_has_nothing_to_migrate_in_a_new_database(
    old: Release, databases: tuple[Database, Database]
) -> None:
    new, _ = databases
    new.migrate()
    before = rows_of(new)["migrations"]

    told = old.run(*("manage.py", *MIGRATE, "--verbosity", "1"), env=os.environ | new.urls)
    assert "No migrations to apply." in told
    new.migrate()
    assert rows_of(new)["migrations"] == before
