"""Rewrite files that still contain deleted rows: PostgreSQL's tables, and the append-only file of Redis.

A deleted row stays in its page until something overwrites it, even after VACUUM; only rewriting the table removes it.
So each table is rewritten under a lock; one that is in use for too long is skipped and reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import connections
from django.db.backends.utils import CursorWrapper
from django.db.models.functions import Now
from django.db.utils import OperationalError
from psycopg.errors import LockNotAvailable
from redis.exceptions import RedisError

from evalsvc.accounts.models import AccountDeletion
from evalsvc.infra.redis import get_shared_client
from evalsvc.tenancy.scope import OWNER, SYSTEM

LOCK_SECONDS = 10
AOF_SECONDS = 600.0
CLEARS_STATISTICS = 180_000
"""The version of PostgreSQL that can take away what it remembers of a column."""
# Partitioned tables have no rows of their own, but statistics. They come last, when their partitions are free of it.
TABLES = """
SELECT format('%I.%I', n.nspname, c.relname), c.relkind = 'r'
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p')
ORDER BY c.relkind = 'p', pg_total_relation_size(c.oid), 1
"""
# Statistics contain sample values, and ANALYZE leaves those of a table that is now empty. An index over an expression
# has statistics of its own; its table determines whether there are rows.
STATISTICS = """
SELECT coalesce(i.indrelid, c.oid)::regclass::text, s.schemaname, s.tablename, array_agg(DISTINCT s.attname::text)
FROM pg_stats s
JOIN pg_class c ON c.relname = s.tablename AND c.relnamespace = s.schemaname::regnamespace
LEFT JOIN pg_index i ON i.indexrelid = c.oid
WHERE s.schemaname = 'public' GROUP BY 1, 2, 3
"""
CLEAR = "SELECT pg_clear_attribute_stats(%s, %s, a, i) FROM unnest(%s::text[]) a, unnest('{true,false}'::boolean[]) i"
WAL = """
SELECT pg_walfile_name(pg_current_wal_lsn()), current_setting('archive_mode'),
  extract(epoch FROM current_setting('checkpoint_timeout')::interval)::float,
  (SELECT count(*) FROM pg_replication_slots), pg_size_bytes(current_setting('wal_keep_size'))
"""


@dataclass(slots=True)
class ScrubResult:
    """The number of rewritten tables, the tables skipped because they were in use, and the append-only file's error."""

    tables: int = 0
    left: list[str] = field(default_factory=list)
    aof: str = ""

    @property
    def is_whole(self) -> bool:
        """Return whether every file of the servers that can contain deleted rows was rewritten."""
        return not self.left and not self.aof


def scrub(*, tell: Callable[[str, int], None], lock_seconds: int | None = None) -> ScrubResult:
    """Rewrite every table and the append-only file; requires the role that owns the tables.

    Accounts that were deleted earlier are marked as scrubbed if nothing was skipped.
    """
    result = ScrubResult()
    with connections[OWNER].cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        began_at = cursor.fetchone()[0]
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [f"{lock_seconds or LOCK_SECONDS}s"])
        cursor.execute(TABLES)
        for number, (table, has_rows) in enumerate(cursor.fetchall(), start=1):
            tell(f"written anew: {table}", number)
            _rewrite(cursor, f"VACUUM (FULL, ANALYZE) {table}" if has_rows else f"ANALYZE {table}", table, result)
        _forget_statistics(cursor, result)
        _rewrite(cursor, "VACUUM (FULL) pg_catalog.pg_statistic", "pg_catalog.pg_statistic", result)
        cursor.execute("RESET lock_timeout")
    result.aof = rewrite_aof()
    if result.is_whole:
        rows = AccountDeletion.objects.using(SYSTEM).filter(scrubbed_at=None, ended_at__lt=began_at)
        rows.update(scrubbed_at=Now())
    return result


def _rewrite(cursor: CursorWrapper, statement: str, table: str, done: ScrubResult) -> None:
    try:
        cursor.execute(statement)
        done.tables += 1
    except OperationalError as exc:
        if not isinstance(exc.__cause__, LockNotAvailable):
            raise
        done.left.append(table)


def _forget_statistics(cursor: CursorWrapper, done: ScrubResult) -> None:
    """Take away what PostgreSQL remembers of tables that are empty now."""
    cursor.execute(STATISTICS)
    for table, schema, name, columns in cursor.fetchall():
        cursor.execute(f"SELECT EXISTS (SELECT 1 FROM {table})")  # noqa: S608  # nosec B608  quoted by PostgreSQL
        if cursor.fetchone()[0]:
            continue
        if connections[OWNER].connection.info.server_version >= CLEARS_STATISTICS:
            cursor.execute(CLEAR, [schema, name, columns])
        else:
            done.left.append(f"statistics of {table}, until it has rows again (PostgreSQL 18 can clear them)")


def rewrite_aof(*, seconds: float = AOF_SECONDS) -> str:
    """Make Redis rewrite its append-only file and wait for it; return the reason of a failure, or an empty string."""
    redis = get_shared_client(timeout=10.0)
    try:
        if not redis.info("persistence").get("aof_enabled"):
            return ""
        redis.bgrewriteaof()
        ends_at = time.monotonic() + seconds
        while (info := redis.info("persistence"))["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"]:
            if time.monotonic() > ends_at:
                return f"Redis was still writing its append-only file after {seconds:.0f} s"
            time.sleep(0.1)
    except RedisError as exc:
        return f"Redis did not write its append-only file anew: {exc}"
    return "" if info["aof_last_bgrewrite_status"] == "ok" else "Redis could not write its append-only file anew"


def what_stays(now: datetime) -> list[str]:
    """Return where deleted rows still are, and until when: the log of PostgreSQL, its archive, copies, and backups."""
    with connections[OWNER].cursor() as cursor:
        cursor.execute(WAL)
        segment, archive, checkpoint, slots, wal_keep_size = cursor.fetchone()
    until = (now + timedelta(seconds=2 * checkpoint)).isoformat(timespec="minutes")
    reasons = [
        f"{slots} replication slots" * bool(slots),
        f"wal_keep_size ({wal_keep_size} bytes)" * bool(wal_keep_size),
    ]
    longer = " and ".join(word for word in reasons if word)
    wal = f"PostgreSQL's log: segments up to {segment}, which PostgreSQL reuses or removes by about {until}"
    lines = [wal + (f", later where {longer} keep them." if longer else ".")]
    if archive != "off":
        lines.append(f"The archive of that log: segments up to {segment}, until your own rule removes them.")
    lines.append(
        f"Backups and standbys' own copies made before {now.isoformat(timespec='minutes')}: until you delete them."
    )
    return lines
