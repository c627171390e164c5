"""Rebuild the indexes of past months, which are half empty because their rows were inserted in many places at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, NamedTuple, Protocol

# The comment on a partition records that it is done: indexes of a past month hardly change.
DONE = "repacked full"
# By default, a tenth of each page is left free for new rows. Past months get hardly any.
FULL = (
    'ALTER INDEX "{}" SET (fillfactor = 100)',
    'REINDEX INDEX CONCURRENTLY "{}"',
    'ALTER INDEX "{}" RESET (fillfactor)',
)
WAITING = """
SELECT p.partition_name FROM partitioned_tables() t, partitions_of(t.parent) p
WHERE p.high <= start_of_month(id_at(%s))
  AND obj_description(p.partition_name::regclass, 'pg_class') IS DISTINCT FROM %s
ORDER BY p.high, 1
"""
INDEXES = """
SELECT c.relname, i.indisvalid, c.relname ~ '_cc(new|old)[0-9]*$'
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = %s::regclass ORDER BY 1
"""
SIZE = "SELECT pg_indexes_size(%s::regclass)"


class SqlConnection(Protocol):
    """Django's, or psycopg's own."""

    def cursor(self) -> AbstractContextManager[Any]:
        """Return a cursor that closes itself."""


class RepackResult(NamedTuple):
    """A partition, and the bytes of its indexes before and after."""

    name: str
    before: int
    after: int


def repack(connection: SqlConnection, before: datetime) -> Iterator[RepackResult]:
    """Rebuild the indexes of partitions that end before the month of `before`, concurrently with reads and writes.

    `connection` is the owner's. An interrupted run continues when it is run again, and drops half-built indexes.
    """
    with connection.cursor() as cursor:
        cursor.execute(WAITING, [before, DONE])
        names = [name for (name,) in cursor.fetchall()]
        for name in names:
            cursor.execute(SIZE, [name])
            (size,) = cursor.fetchone()
            cursor.execute(INDEXES, [name])
            for index, is_valid, is_left_over in cursor.fetchall():
                if is_left_over and not is_valid:
                    cursor.execute(f'DROP INDEX CONCURRENTLY "{index}"')
                else:
                    for statement in FULL:
                        cursor.execute(statement.format(index))
            cursor.execute(f"COMMENT ON TABLE \"{name}\" IS '{DONE}'")
            cursor.execute(SIZE, [name])
            yield RepackResult(name, size, cursor.fetchone()[0])
