"""`manage.py migrate` beside others: one migrates at a time, and nobody's index waits for whoever waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import services
from tests.conftest import wait_until
from tests.growth.databases import MIGRATE, Database, migrated_database

HOLD = "SELECT pg_advisory_lock(3, hashint8(0))"
HOLDER = """
SELECT pid FROM pg_locks JOIN pg_database d ON d.oid = database
WHERE locktype = 'advisory' AND classid = 3 AND granted AND datname = current_database()
"""
ASKS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%pg_try_advisory_lock(3,%'
"""


@pytest.fixture
def database() -> Iterator[Database]:
    with migrated_database(services.servers.postgres.url) as database:
        yield database


def test_an_index_does_not_wait_for_who_migrates_second(database: Database) -> None:
    """A transaction that waits for the lock would keep a snapshot, and the two would wait for each other."""
    with database.connect("owner") as first, database.connect("owner") as looks:
        first.execute(HOLD)
        second = database.command(*MIGRATE)
        try:
            wait_until(lambda: second.poll() is not None or looks.execute(ASKS).fetchone())
            assert second.poll() is None
            first.execute("SET lock_timeout = '5s'")
            first.execute("CREATE INDEX CONCURRENTLY ix_new ON evaluations_pruned (account_id)")
            assert second.poll() is None
        finally:
            first.close()
        output, _ = second.communicate(timeout=200)

    assert second.returncode == 0, output
    assert "Another process migrates this database; waiting for it." in output


def test_its_own_lock_is_no_transaction(database: Database) -> None:
    """Or no index could ever be made concurrently: it waits for each transaction that is open."""
    with database.connect("owner") as owner, owner.transaction():
        # It is stopped at its first look, with its lock taken.
        owner.execute("LOCK TABLE django_migrations IN ACCESS EXCLUSIVE MODE")
        process = database.command(*MIGRATE)
        try:
            with database.connect("owner") as looks:
                holder = wait_until(lambda: looks.execute(HOLDER).fetchone())
                sql = "SELECT state, backend_xmin FROM pg_stat_activity WHERE pid = %s"
                assert looks.execute(sql, holder).fetchone() == ("idle", None)
        finally:
            process.kill()
            process.communicate()
