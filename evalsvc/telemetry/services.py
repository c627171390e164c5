"""Verbs: store what exporters send, in one statement a request, so that a retried export doubles nothing; prune."""

from __future__ import annotations

from django.conf import settings
from django.db import connection, connections
from django.dispatch import Signal

from evalsvc.accounts.models import Account
from evalsvc.telemetry.otlp.records import RecordBatch
from evalsvc.tenancy.scope import SYSTEM

stored = Signal()
"""A request's spans or logs are stored: `account` and `batch`, within the transaction that stores them."""

PRUNE_ROWS = 5000
PRUNE_ROUNDS = 100

SHARED_COLUMNS = {
    "service_name": "text",
    "project_name": "text",
    "app": "text",
    "experiment_id": "bigint",
    "attributes": "jsonb",
    "resource": "jsonb",
    "scope_name": "text",
    "scope_version": "text",
    "scope_attributes": "jsonb",
    "n_bytes": "integer",
    "trace_id": "text",
    "span_id": "text",
}
SPAN_COLUMNS = SHARED_COLUMNS | {
    "parent_span_id": "text",
    "trace_state": "text",
    "name": "text",
    "kind": "smallint",
    "started_at": "timestamptz",
    "ended_at": "timestamptz",
    "duration_ns": "bigint",
    "status_code": "smallint",
    "status_message": "text",
    "conversation_id": "text",
    "events": "jsonb",
    "links": "jsonb",
}
LOG_COLUMNS = SHARED_COLUMNS | {
    "log_id": "text",
    "digest": "text",
    "trace_flags": "smallint",
    "occurred_at": "timestamptz",
    "observed_at": "timestamptz",
    "severity_number": "smallint",
    "severity_text": "text",
    "body": "jsonb",
}
# SQL expressions for columns whose stored value differs from the row's value.
WRITTEN = {"digest": "decode(digest, 'hex')", "occurred_at": "coalesce(occurred_at, statement_timestamp())"}


def insert_sql(table: str, columns: dict[str, str], order: str) -> str:
    """Return the statement that writes all rows of a request; in one order, so that retries do not deadlock."""
    typed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    values = ", ".join(WRITTEN.get(name, name) for name in columns)
    return (
        f"INSERT INTO {table} (account_id, {', '.join(columns)}) "  # noqa: S608  names of ours
        f"SELECT %s, {values} FROM jsonb_to_recordset(%s::jsonb) AS sent({typed}) "
        f"ORDER BY {order} ON CONFLICT DO NOTHING"
    )


def upsert_sql(table: str, columns: dict[str, str], key: tuple[str, str], later: str) -> str:
    """Return the statement that writes all rows of a request, in one order, and keeps the later version of each.

    Of two versions the one with the later time in `later` is kept, and of equal times the one that came last.
    """
    typed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    names, ids = ", ".join(columns), ", ".join(key)
    contents = [name for name in columns if name not in key]
    stored, sent = (", ".join(f"{source}.{name}" for name in contents) for source in ("stored", "EXCLUDED"))
    return (
        f"INSERT INTO {table} AS stored (account_id, {names}) "  # noqa: S608  names of ours
        f"SELECT DISTINCT ON ({ids}) %s, {names} "
        f"FROM ROWS FROM (jsonb_to_recordset(%s::jsonb) AS ({typed})) WITH ORDINALITY AS sent({names}, place) "
        f"ORDER BY {ids}, {later} DESC, place DESC "
        f"ON CONFLICT (account_id, {ids}) DO UPDATE SET ({', '.join(contents)}) = ROW({sent}) "
        f"WHERE EXCLUDED.{later} >= stored.{later} AND ({stored}) IS DISTINCT FROM ({sent})"
    )


INSERT_SPANS = upsert_sql("telemetry_span", SPAN_COLUMNS, ("trace_id", "span_id"), "ended_at")
INSERT_LOGS = insert_sql("telemetry_logrecord", LOG_COLUMNS, "log_id, digest")

# Ids begin with the milliseconds since 2026, so the primary key finds what is old.
PRUNE = """
WITH oldest AS (
  SELECT id FROM {table}
  WHERE id < greatest(0, floor(extract(epoch FROM now() - %s * interval '1 day' - timestamptz '2026-01-01 00:00+00')
    * 1000))::bigint << 22
  ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
)
DELETE FROM {table} t USING oldest WHERE t.id = oldest.id
"""


def store_spans(*, account: Account, batch: RecordBatch) -> None:
    """Write spans; of one that is there already, the version that ends later is kept."""
    _store(INSERT_SPANS, account, batch)


def store_logs(*, account: Account, batch: RecordBatch) -> None:
    """Write logs; one that is there already stays as it is."""
    _store(INSERT_LOGS, account, batch)


def _store(sql: str, account: Account, batch: RecordBatch) -> None:
    if batch.rows:
        with connection.cursor() as cursor:
            cursor.execute(sql, [account.pk, (b"[" + b",".join(batch.rows) + b"]").decode()])
        stored.send(sender=None, account=account, batch=batch)


def prune_telemetry() -> dict[str, int]:
    """Delete rows older than the retention period in batches, as the system role; 0 days retain everything."""
    if not settings.RETENTION_TELEMETRY_DAYS:
        return {"spans": 0, "logs": 0}
    return {"spans": _prune("telemetry_span"), "logs": _prune("telemetry_logrecord")}


def _prune(table: str) -> int:
    n_deleted = 0
    with connections[SYSTEM].cursor() as cursor:
        for _ in range(PRUNE_ROUNDS):
            cursor.execute(PRUNE.format(table=table), [settings.RETENTION_TELEMETRY_DAYS, PRUNE_ROWS])
            n_deleted += cursor.rowcount
            if cursor.rowcount < PRUNE_ROWS:
                break
    return n_deleted
