"""Indexes of months that are over are rebuilt once, beside the traffic, and an end in the middle leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from benchmarks.growth_rows import fill, new_accounts
from tests.growth.databases import Database, migrated_database

LATER = "2040-01"
UNTIL = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '_until_' ORDER BY 1"
# Of indexes: what they are of, whether they serve, and to which index of the parent they belong.
INDEXES = """
SELECT regexp_replace(pg_get_indexdef(i.indexrelid), 'INDEX \\S+ ', ''), i.indisvalid, i.indisunique, h.inhparent::regclass::text
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid LEFT JOIN pg_inherits h ON h.inhrelid = i.indexrelid
WHERE c.relname ~ '_until_' ORDER BY 1
"""
BYTES = "SELECT sum(pg_indexes_size(oid))::bigint FROM pg_class WHERE relkind = 'r' AND relname ~ '_until_'"


@pytest.fixture(scope="module")
def filled() -> Iterator[Database]:
    from tests import services

    with migrated_database(services.servers.postgres.url) as database:
        with database.connect("owner") as owner:
            fill(owner, new_accounts(owner), 20_000, days=20)
        yield database


def test_what_is_not_over_is_left_alone(filled: Database) -> None:
    assert filled.run("repack") == ""


def test_no_month_is_an_error(filled: Database) -> None:
    process = filled.command("repack", "--before", "soon")
    output, _ = process.communicate(timeout=600)
    assert process.returncode != 0
    assert "'soon' is no month" in output


def test_indexes_become_smaller_once_and_stay_what_they_are(filled: Database) -> None:
    with filled.connect("owner") as owner:
        ((was,), indexes) = owner.execute(BYTES).fetchone(), owner.execute(INDEXES).fetchall()
        names = [name for (name,) in owner.execute(UNTIL).fetchall()]
        leave_half_built(owner)

        said = filled.run("repack", "--before", LATER)

        assert [line.partition(":")[0] for line in said.splitlines() if "_until_" in line] == names
        assert owner.execute(INDEXES).fetchall() == indexes
        (n_bytes,) = owner.execute(BYTES).fetchone()
        assert n_bytes < 0.9 * was
        assert filled.run("repack", "--before", LATER) == ""


def leave_half_built(owner: psycopg.Connection[Any]) -> None:
    """Leave what a rebuild leaves that finds two equal rows, or whose process is killed."""
    (table,) = owner.execute(UNTIL).fetchone() or ("",)
    with pytest.raises(psycopg.errors.UniqueViolation):
        owner.execute(f"CREATE UNIQUE INDEX CONCURRENTLY ix_half_built_ccnew ON {table} (account_id)")
    left = owner.execute(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = 'ix_half_built_ccnew'::regclass"
    ).fetchone()
    assert left == (False,)
