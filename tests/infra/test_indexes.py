"""An index of a plain table, made beside the traffic: with no bound on its waits, and as often as it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.db import connections, models
from django.db.migrations.state import ProjectState

from evalsvc.infra.indexes import AddIndexBeside
from tests import services
from tests.growth.databases import Database, migrated_database

NAME = "ix_pruned_new"
VALID = "SELECT indrelid::regclass::text, indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"


@pytest.fixture
def database() -> Iterator[Database]:
    with migrated_database(services.servers.postgres.url) as database:
        yield database


@pytest.fixture
def connection(database: Database) -> Iterator[Any]:
    """The owner's, with a bound, as `migrate` has it."""
    connection = connections.create_connection("owner")
    connection.settings_dict = {**connection.settings_dict, "NAME": database.name}
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '5s'")
    yield connection
    connection.close()


def add_index(connection: Any) -> None:
    before = ProjectState.from_apps(apps)
    after = before.clone()
    operation = AddIndexBeside("pruned", models.Index(fields=["scores_until"], name=NAME))
    operation.state_forwards("evaluations", after)
    with connection.schema_editor(atomic=False) as editor:
        operation.database_forwards("evaluations", editor, before, after)


def test_what_an_earlier_run_has_left_is_no_hindrance(connection: Any, database: Database) -> None:
    with database.connect("owner") as owner:
        with pytest.raises(psycopg.errors.UniqueViolation):
            owner.execute(f"CREATE UNIQUE INDEX CONCURRENTLY {NAME} ON django_migrations ((1))")
        assert owner.execute(VALID, [NAME]).fetchone() == ("django_migrations", False)

        add_index(connection)
        assert owner.execute(VALID, [NAME]).fetchone() == ("evaluations_pruned", True)


def test_the_bound_of_all_other_waits_is_back(connection: Any) -> None:
    add_index(connection)
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("5s",)
