"""The tables of before become partitioned with what is in them: in one go, or, killed in the middle, not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from benchmarks.growth_rows import fill, new_accounts
from tests.conftest import wait_until
from tests.growth.databases import BY_STEPS, MIGRATE, Database, columns_of, new_database

pytestmark = pytest.mark.slow

BEFORE = ("evaluations", "0016_computing")
TABLES = ("evaluationrequest", "evaluation", "evaluationtag", "historyscore")
N = 400


@pytest.fixture
def old(servers: Any) -> Iterator[Database]:
    """A database of the version before, with evaluations of five accounts over a year."""
    with new_database(servers.postgres.url) as database:
        database.migrate_by_steps("catalog")  # whoever migrates at all wants to write its rows
        database.migrate_by_steps(*BEFORE)
        with database.connect("owner") as owner:
            fill(owner, new_accounts(owner), N, days=300)
        yield database


def contents(connection: psycopg.Connection[Any], columns: dict[str, str]) -> list[str]:
    """Return a digest of these columns of each table's rows; later releases add others."""
    sql = "SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) || count(*) FROM (SELECT {} FROM {}) t"
    digests = [connection.execute(sql.format(names, table)).fetchone() for table, names in columns.items()]
    return [digest[0] for digest in digests if digest]


def kinds(connection: psycopg.Connection[Any]) -> set[str]:
    names = [f"evaluations_{table}" for table in TABLES]
    return {kind for (kind,) in connection.execute("SELECT relkind FROM pg_class WHERE relname = ANY(%s)", [names])}


def stopped_at(database: Database, lock: str, *, seconds: float = 100) -> None:
    """Start to migrate, and kill it when it waits for a lock that somebody holds."""
    with database.connect("owner") as asker, database.connect("owner") as holder, holder.transaction():
        sessions = "SELECT array_agg(pid) FROM pg_stat_activity WHERE datname = current_database()"
        known = asker.execute(sessions).fetchone()[0]  # type: ignore[index]
        holder.execute(lock)
        process = database.command(*MIGRATE, program=BY_STEPS)
        waits = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        wait_until(lambda: process.poll() is not None or asker.execute(waits).fetchone(), seconds=seconds)
        assert process.poll() is None, process.stdout and process.stdout.read()
        process.kill()
        process.communicate()
    with database.connect("owner") as owner:
        # The server notices that its client is gone when it answers.
        new = sessions + " AND pid <> pg_backend_pid() AND pid <> ALL(%s)"
        wait_until(lambda: owner.execute(new, [known]).fetchone() == (None,))


def check_that_rows_stayed_where_they_were(database: Database) -> None:
    with database.connect("owner") as owner:
        for table in TABLES:
            first, *others = owner.execute("SELECT * FROM partitions_of(%s)", [f"evaluations_{table}"]).fetchall()
            assert first[1] is None
            assert len(others) >= 2
            assert [low for _, low, _ in others] == [high for _, _, high in [first, *others[:-1]]]
            sql = f"SELECT count(*) FROM evaluations_{table} WHERE tableoid <> %s::regclass"
            assert owner.execute(sql, [first[0]]).fetchone() == (0,)


def check_that_every_index_has_one_in_each_partition(database: Database) -> None:
    sql = """
    SELECT i.indexrelid::regclass FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
    WHERE t.relkind = 'p' AND t.relname LIKE 'evaluations\\_%' AND (NOT i.indisvalid OR (
      SELECT count(*) FROM pg_inherits h WHERE h.inhparent = i.indexrelid)
      <> (SELECT count(*) FROM pg_inherits h WHERE h.inhparent = t.oid))"""
    with database.connect("owner") as owner:
        assert owner.execute(sql).fetchall() == []


def test_it_is_killed_and_begins_anew(old: Database) -> None:
    with old.connect("owner") as owner:
        columns = columns_of(owner, TABLES)
        before = contents(owner, columns)

        # While the tables are checked, one after the other.
        stopped_at(old, "LOCK TABLE evaluations_evaluationtag IN ACCESS SHARE MODE")
        assert (kinds(owner), contents(owner, columns)) == ({"r"}, before)

        # When all is done but to say so.
        old.migrate_by_steps("evaluations", "0017_bounds")
        stopped_at(old, "LOCK TABLE django_migrations IN SHARE MODE")
        assert (kinds(owner), contents(owner, columns)) == ({"r"}, before)

        old.migrate()
        assert (kinds(owner), contents(owner, columns)) == ({"p"}, before)
        checks = owner.execute("SELECT count(*) FROM pg_constraint WHERE NOT convalidated").fetchone()
        assert checks == (0,)
    assert '"n"' not in old.run("verify", "--json")
    check_that_rows_stayed_where_they_were(old)
    check_that_every_index_has_one_in_each_partition(old)
