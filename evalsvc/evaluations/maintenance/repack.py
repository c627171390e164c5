"""Indexes of months that are over, built anew: rows came to many places of them at once, so half of them is air."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, NamedTuple, Protocol

# The comment of a partition says that it is done: indexes of a month that is over hardly change.
DONE = "repacked full"
# Pages keep a tenth free for what is to come. To these months next to nothing comes.
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


class Repacked(NamedTuple):
    """A partition, and the bytes of its indexes before and after."""

    name: str
    before: int
    after: int


def repack(connection: SqlConnection, before: datetime) -> Iterator[Repacked]:
    """Rebuild the indexes of the partitions that end before this month began, beside whoever reads and writes them.

    `connection` is the owner's. Ended in the middle, it goes on when run again, and takes away what was half built.
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
            yield Repacked(name, size, cursor.fetchone()[0])
