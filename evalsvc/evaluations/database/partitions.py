"""The partitions of the tables that grow, made ahead of time, and their indexes."""

from __future__ import annotations

from collections.abc import Collection

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from evalsvc.infra.indexes import disable_lock_timeout
from evalsvc.tenancy.scope import SYSTEM, current_role

# Histories first, in the same order as captures lock them, which rules out deadlocks between the two.
TABLES = {
    "evaluations_historyscore": "id",
    "evaluations_evaluationrequest": "id",
    "evaluations_evaluation": "id",
    "evaluations_evaluationtag": "evaluation_id",
}
HOUR_MS = 3_600_000
"""As `ids_until` in sql/ids.sql."""
# Those that no index of this whole table's index is attached for; the default one first, as new ones are made like it.
WITHOUT_INDEX = """
SELECT p.inhrelid::regclass::text FROM pg_inherits p JOIN pg_class c ON c.oid = p.inhrelid
WHERE p.inhparent = %s::regclass AND NOT EXISTS (
  SELECT FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid
  WHERE i.inhparent = %s::regclass AND x.indrelid = p.inhrelid)
ORDER BY pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT', 1
"""


def lookups_for_request(request_id: int) -> dict[str, int]:
    """Return the lookups of a request's evaluations: with the range of ids that spares looking at each partition."""
    moment = request_id >> 22
    return {"request_id": request_id, "id__gte": moment << 22, "id__lt": moment + HOUR_MS << 22}


def lookups_for_requests(request_ids: Collection[int]) -> dict[str, object]:
    """Return the lookups of the evaluations of several requests, as `lookups_for_request`."""
    bounds = lookups_for_request(min(request_ids, default=0)), lookups_for_request(max(request_ids, default=0))
    return {"request_id__in": request_ids, "id__gte": bounds[0]["id__gte"], "id__lt": bounds[1]["id__lt"]}


def new_ids(n: int) -> list[int]:
    """Return ascending ids with the same timestamp, for a request and its evaluations; all fall in one partition."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute("SELECT next_ids(%s)", [n])
        return list(cursor.fetchone()[0])


def make_partitions() -> list[str]:
    """Make the partitions of this month and the next ones, as far as they are missing; return the new ones' names."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute("SELECT make_partitions()")
        return list(cursor.fetchone()[0])


def add_index(connection: BaseDatabaseWrapper, table: str, name: str, definition: str) -> None:
    """Make an index in each partition, under the name that `make_partitions` would give it, and the whole table's.

    PostgreSQL would choose names by itself, cut off where they are long, so that those of two months could be one.
    Outside a transaction (`atomic = False`) it stops no writes, and goes on where it was ended. Within one it does.
    """
    if connection.in_atomic_block:
        _add_index_behind_a_lock(connection, table, name, definition)
    else:
        _add_index_beside(connection, table, name, definition)


def _add_index_behind_a_lock(connection: BaseDatabaseWrapper, table: str, name: str, definition: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass", [table])
        for (partition,) in cursor.fetchall():
            cursor.execute(f"CREATE INDEX {name}{partition.removeprefix(table)} ON {partition} {definition}")
        # It takes those that are there for its own.
        cursor.execute(f"CREATE INDEX {name} ON {table} {definition}")


def _add_index_beside(connection: BaseDatabaseWrapper, table: str, name: str, definition: str) -> None:
    with connection.cursor() as cursor:
        # IF NOT EXISTS would wait for writers before it looks.
        cursor.execute("SELECT to_regclass(%s)", [name])
        if cursor.fetchone()[0] is None:
            # Of no partition yet. One that is made from now on brings its own.
            cursor.execute(f"CREATE INDEX {name} ON ONLY {table} {definition}")
        cursor.execute(WITHOUT_INDEX, [table, name])
        for (partition,) in cursor.fetchall():
            index = f"{name}{partition.removeprefix(table)}"
            with disable_lock_timeout(connection):
                # What an earlier run has left, that was ended: it is not valid.
                cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {index}")
                cursor.execute(f"CREATE INDEX CONCURRENTLY {index} ON {partition} {definition}")
            cursor.execute(f"ALTER INDEX {name} ATTACH PARTITION {index}")
