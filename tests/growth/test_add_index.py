"""An index of a table that grows is made beside the traffic, and whoever ended it half-way runs it again."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from evalsvc.evaluations.database.partitions import add_index
from tests import services
from tests.conftest import wait_until
from tests.growth.databases import Database, migrated_database

TABLE, NAME, KEYS = "evaluations_evaluationrequest", "ix_request_new", "(account_id, app) WHERE app IS NOT NULL"
WRITE = f"INSERT INTO {TABLE} (account_id, capture, strategy, fingerprint, app) VALUES (1, 'all', 'none', 1, 'shop')"
INDEXES = """
SELECT c.relname::text, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relname LIKE 'ix\\_request\\_new%'
"""
PARTITIONS = f"SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = '{TABLE}'::regclass"
# For this writer, that is: it also waits a moment for whoever reads, and so for who asks this.
WAITING = """
SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%%'
  AND %s = ANY (pg_blocking_pids(pid))
"""


@dataclass
class Wrapped:
    """A connection as Django would hand it to a migration."""

    connection: psycopg.Connection[Any]
    in_atomic_block: bool = False

    def cursor(self) -> psycopg.Cursor[Any]:
        return self.connection.cursor()


def add(database: Database) -> None:
    with database.connect("owner") as owner:
        wrapped: Any = Wrapped(owner)
        add_index(wrapped, TABLE, NAME, KEYS)


@pytest.fixture
def database() -> Iterator[Database]:
    with migrated_database(services.servers.postgres.url) as database:
        yield database


@pytest.fixture
def owner(database: Database) -> Iterator[psycopg.Connection[Any]]:
    with database.connect("owner") as owner:
        yield owner


@contextmanager
def held_up(database: Database, owner: psycopg.Connection[Any]) -> Iterator[int]:
    """Let an index wait for somebody who has written, until the block ends; what it yields is its session."""
    # That of the whole table is there, as after an earlier run: it has to wait for writers, as any change of a table.
    owner.execute(f"CREATE INDEX {NAME} ON ONLY {TABLE} {KEYS}")
    with ThreadPoolExecutor(1) as pool:
        with database.connect("owner") as writer, writer.transaction():
            writer.execute(WRITE)
            adding = pool.submit(add, database)
            pid = writer.info.backend_pid
            yield wait_until(lambda: (adding.done() and adding.result()) or owner.execute(WAITING, [pid]).fetchone())[0]
        if adding.exception():
            assert isinstance(adding.exception(), psycopg.errors.QueryCanceled)


def check_it_is_everywhere(owner: psycopg.Connection[Any]) -> None:
    suffixes = [name.removeprefix(TABLE) for (name,) in owner.execute(PARTITIONS).fetchall()]
    assert len(suffixes) > 3
    assert dict(owner.execute(INDEXES).fetchall()) == dict.fromkeys(
        [NAME, *(NAME + suffix for suffix in suffixes)], True
    )


def test_writers_go_on_while_it_waits_for_one_of_them(database: Database, owner: psycopg.Connection[Any]) -> None:
    with held_up(database, owner), database.connect("owner") as other:
        other.execute("SET lock_timeout = '1s'")
        other.execute(WRITE)

    check_it_is_everywhere(owner)
    assert owner.execute(f"SELECT count(*) FROM {TABLE} WHERE account_id = 1 AND app = 'shop'").fetchone() == (2,)


def test_one_that_was_ended_is_made_when_it_is_run_again(database: Database, owner: psycopg.Connection[Any]) -> None:
    with held_up(database, owner) as session:
        owner.execute("SELECT pg_cancel_backend(%s)", [session])
        wait_until(lambda: owner.execute("SELECT pg_blocking_pids(%s) = '{}'", [session]).fetchone() == (True,))
    assert False in dict(owner.execute(INDEXES).fetchall()).values()

    add(database)
    check_it_is_everywhere(owner)
    add(database)
    check_it_is_everywhere(owner)


def test_a_partition_that_is_made_later_has_it(database: Database, owner: psycopg.Connection[Any]) -> None:
    add(database)
    before = len(owner.execute(PARTITIONS).fetchall())
    with database.connect("system") as system:
        system.execute("SELECT make_partitions(5)")

    assert len(owner.execute(PARTITIONS).fetchall()) > before
    check_it_is_everywhere(owner)


def test_within_a_transaction_it_is_made_as_ever(database: Database, owner: psycopg.Connection[Any]) -> None:
    with owner.transaction():
        wrapped: Any = Wrapped(owner, in_atomic_block=True)
        add_index(wrapped, TABLE, NAME, KEYS)
    check_it_is_everywhere(owner)
