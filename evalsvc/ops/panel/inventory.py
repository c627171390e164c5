"""State of PostgreSQL, Valkey and the disk, queried at intervals; no row of an account is read."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import connections, transaction
from django.db.migrations.recorder import MigrationRecorder
from redis.exceptions import RedisError

from evalsvc.infra.functions import functions_digest, installed_digests, is_fully_migrated
from evalsvc.infra.redis import get_shared_client
from evalsvc.local.embedded.home import evalsvc_home
from evalsvc.ops.metering.installation import CachedResult
from evalsvc.tenancy.scope import SYSTEM

KEPT_SECONDS = 15.0
TIMEOUT_MS = 2000
MOST_TABLES = 10
COUNTED_BYTES = 8 * 1024 * 1024
"""A table of at most this size is counted: that takes milliseconds."""
# Rows are PostgreSQL's own estimate, which it makes when it analyses a table, and -1 or 0 before. Partitions belong to
# their table; those without a page have no row.
TABLES = """
SELECT coalesce(pg_partition_root(c.oid)::regclass, c.oid::regclass)::text AS name,
  sum(pg_total_relation_size(c.oid)), sum(greatest(c.reltuples, 0)),
  bool_or(c.reltuples <= 0 AND pg_relation_size(c.oid) > 0), count(*)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
GROUP BY 1 ORDER BY 2 DESC LIMIT %s
"""
SIZE = "SELECT pg_database_size(current_database()), current_setting('server_version')"
# Of other roles only that something runs; of our own how long it has.
ACTIVITY = """
SELECT count(*) FILTER (WHERE state = 'active'), count(*),
  extract(epoch FROM max(clock_timestamp() - xact_start)), current_setting('max_connections')::int
FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
INDEXES = """
SELECT coalesce(relid::regclass::text, '?'), phase, blocks_done, blocks_total FROM pg_stat_progress_create_index
WHERE datname = current_database()
"""


@dataclass(frozen=True, slots=True)
class TableSize:
    """A table with its partitions, indexes and long values: bytes, and how many rows."""

    name: str
    n_bytes: int
    n_rows: int | None
    """None where PostgreSQL has not looked at all of it yet, and counting would take too long."""
    is_counted: bool
    """Whether the rows were counted, or are an estimate."""
    n_parts: int


@dataclass(frozen=True, slots=True)
class IndexInWork:
    """An index that a migration builds just now."""

    table: str
    phase: str
    share: float | None


@dataclass(frozen=True, slots=True)
class Disk:
    """The file system with the data of this machine."""

    path: str
    free: int
    total: int

    @property
    def is_short(self) -> bool:
        """Whether less than a tenth is free."""
        return self.free * 10 < self.total


@dataclass(frozen=True, slots=True)
class Inventory:
    """Sizes, versions, and what runs in the database."""

    n_bytes: int
    postgresql: str
    valkey: str | None
    functions: str
    has_functions: bool
    """Whether the database has the functions that this version calls."""
    is_migrated: bool
    last_migration: str
    n_active: int
    n_connections: int
    max_connections: int
    oldest_seconds: float
    disk: Disk
    tables: list[TableSize] = field(default_factory=list)
    indexes: list[IndexInWork] = field(default_factory=list)


def read_inventory() -> Inventory:
    """Query the inventory, with a limit of two seconds a statement. Raises DatabaseError."""
    connection = connections[SYSTEM]
    with transaction.atomic(using=SYSTEM), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(TIMEOUT_MS)])
        n_bytes, postgresql = _row(cursor, SIZE)
        active, open_now, oldest, most = _row(cursor, ACTIVITY)
        cursor.execute(TABLES, [MOST_TABLES])
        tables = [_table(cursor, *row) for row in cursor.fetchall()]
        cursor.execute(INDEXES)
        indexes = [
            IndexInWork(name, phase, n_done / total if total else None)
            for name, phase, n_done, total in cursor.fetchall()
        ]
        digest, installed = functions_digest(), installed_digests(connection)
        newest = MigrationRecorder(connection).migration_qs.order_by("-id").values_list("app", "name").first()
        is_migrated = is_fully_migrated(connection)
    return Inventory(
        n_bytes=n_bytes,
        postgresql=postgresql.partition(" ")[0],
        valkey=_valkey(),
        functions=digest,
        has_functions=digest in installed,
        is_migrated=is_migrated,
        last_migration=" ".join(newest) if newest else "none",
        n_active=active,
        n_connections=open_now,
        max_connections=most,
        oldest_seconds=float(oldest or 0.0),
        disk=_disk(),
        tables=tables,
        indexes=indexes,
    )


inventory: CachedResult[Inventory] = CachedResult(read_inventory, seconds=KEPT_SECONDS)


def _row(cursor: Any, statement: str) -> Any:
    cursor.execute(statement)
    return cursor.fetchone()


def _table(cursor: Any, name: str, size: Any, estimate: float, is_unknown: bool, n_parts: int) -> TableSize:
    if size <= COUNTED_BYTES:
        (n_rows,) = _row(cursor, f"SELECT count(*) FROM {name}")  # noqa: S608  regclass has quoted the name
        return TableSize(name, int(size), n_rows, True, n_parts)
    return TableSize(name, int(size), None if is_unknown else int(estimate), False, n_parts)


def _valkey() -> str | None:
    """Return what answers as Redis, and its version; None when it does not answer."""
    try:
        info: dict[str, Any] = get_shared_client().info("server")
    except RedisError:
        return None
    if "valkey_version" in info:
        return f"Valkey {info['valkey_version']}"
    return f"Redis {info.get('redis_version', '?')}"


def _disk() -> Disk:
    """Check the disk with the data of `make up`; on a machine without it, the disk of the working directory."""
    home = evalsvc_home(Path.cwd())
    place = home if home.exists() else Path.cwd()
    used = shutil.disk_usage(place)
    return Disk(str(place), used.free, used.total)
