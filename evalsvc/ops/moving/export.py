"""An account as lines of JSON, from one snapshot: a manifest, its rows table by table, and an end with their digest."""

# ruff: noqa: S608 - what is put together here is ours

from __future__ import annotations

import hashlib
import logging
import zlib
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

import orjson
from django.db import Error, connections

from evalsvc import __version__
from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.infra.locks import EXPORT, EXPORT_PLACE
from evalsvc.ops.moving.tables import FORMAT, MEMBERS, VERSION, get_moving_tables
from evalsvc.rest.problems import Problem
from evalsvc.tenancy.scope import account_scope, current_role

log = logging.getLogger("evalsvc.export")

MOST_AT_ONCE = 4
"""Exports of all accounts: each holds a thread, a database connection and a snapshot for as long as it takes."""
MOST_ROWS, PAGE_BYTES = 32, 4 * 1024 * 1024
"""Fetched at once: rows differ by a factor of a million, and a few of the longest must fit in memory."""
STALLED_SECONDS = 60
"""Whoever takes nothing for so long loses the connection: its snapshot keeps deleted rows of all accounts."""
CHUNK_BYTES = 1 << 16
BUSY_SECONDS = 30
MIGRATIONS = "SELECT app, max(name) FROM django_migrations GROUP BY app ORDER BY app"
MEMBERS_ROWS = """FROM accounts_member m JOIN accounts_user u ON u.id = m.user_id WHERE m.account_id = %(account)s"""
SELECT_MEMBERS = f"""
SELECT row_to_json(r)::text FROM (SELECT u.email, m.role, m.created_at {MEMBERS_ROWS} ORDER BY m.id) r
"""
# Data that cannot be moved, or is inactive after the move, and that requires action by the operator.
NEEDS = {
    "connections": """
        SELECT c.name FROM judges_connection c
        WHERE c.account_id = %(account)s AND c.secret IS NOT NULL AND c.deleted_at IS NULL ORDER BY 1""",
    "event_endpoints": "SELECT t.id::text FROM events_eventendpoint t WHERE t.account_id = %(account)s ORDER BY 1",
    "webhook_secret": "SELECT s.last4 FROM judges_webhooksecret s WHERE s.account_id = %(account)s",
    "paused_configs": """
        SELECT c.id::text FROM experiments_config c
        WHERE c.account_id = %(account)s AND c.state = 'running' ORDER BY c.id""",
    "left_out_requests": """
        SELECT DISTINCT e.request_id::text FROM evaluations_evaluation e
        WHERE e.account_id = %(account)s AND e.status = 'pending' ORDER BY 1""",
}


def begin_export(*, account: Account, actor: str) -> None:
    """Write down who takes the account along. Raises Problem `export_running`, and then nothing is written."""
    with account_scope(account.pk):
        _acquire_slot(account.pk)
        record_audit(account=account, actor=actor, action="account.exported", target=account.name)


class AccountExport:
    """The lines of an export.

    The first is read immediately, so that a refusal is reported before the response begins; `close` ends the export.
    """

    def __init__(self, account: Account) -> None:
        self._lines = _lines(account)
        # The account's scope begins here and ends with the last line: no other work of this thread must run in it.
        self._context = copy_context()
        self._first: bytes | None = self._context.run(next, self._lines)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        first, self._first = self._first, None
        return self._context.run(next, self._lines) if first is None else first

    def close(self) -> None:
        """Release the snapshot; the web server calls it, also when the reader has disconnected."""
        self._context.run(self._lines.close)


class GzipExport:
    """The same, gzipped."""

    def __init__(self, lines: AccountExport) -> None:
        self.close = lines.close
        self._parts = _compress_lines(lines)

    def __iter__(self) -> Iterator[bytes]:
        return self._parts


def _compress_lines(lines: AccountExport) -> Iterator[bytes]:
    packer = zlib.compressobj(level=5, wbits=31)
    for chunk in lines:
        if packed := packer.compress(chunk):
            yield packed
    yield packer.flush()


def _lines(account: Account) -> Any:
    digest, row_counts = hashlib.sha256(), dict[str, int]()
    try:
        with account_scope(account.pk, one_snapshot=True):
            _acquire_slot(account.pk)
            manifest = _manifest(account)
            yield _update_digest(digest, _line(manifest))
            yield from _tables(account.pk, digest, row_counts)
            yield _line({"end": {"tables": row_counts, "sha256": digest.hexdigest()}})
    except Error:
        # The response has begun, so the only option is to abort it; the file then lacks its end line.
        log.warning("An export of account %s was aborted.", account.pk, exc_info=True)
        raise


def _tables(account_id: int, digest: Any, told: dict[str, int]) -> Iterator[bytes]:
    for name, query in _queries():
        told[name] = 0
        head = b'{"table":"' + name.encode() + b'","row":'
        for rows in _pages(query, account_id):
            told[name] += len(rows)
            yield from (
                _update_digest(digest, chunk) for chunk in _join_lines(head + row.encode() + b"}\n" for row in rows)
            )


def _queries() -> list[tuple[str, str]]:
    return [*((table.name, table.select) for table in get_moving_tables()), (MEMBERS, SELECT_MEMBERS)]


def _pages(query: str, account_id: int) -> Iterator[list[str]]:
    """Yield the rows of a query, as many together as fit; the cursor ends with the transaction at the latest."""
    with connections[current_role()].chunked_cursor() as cursor:
        cursor.execute(query, {"account": account_id})
        n = MOST_ROWS
        while rows := [row for (row,) in cursor.fetchmany(n)]:
            yield rows
            n_bytes = sum(map(len, rows)) or 1
            n = max(1, min(MOST_ROWS, 2 * n, PAGE_BYTES * len(rows) // n_bytes))


def _join_lines(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Join short lines to pieces of a size that is worth sending."""
    pieces: list[bytes] = []
    size = 0
    for line in lines:
        pieces.append(line)
        size += len(line)
        if size >= CHUNK_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


def _manifest(account: Account) -> dict[str, Any]:
    values = {"account": account.pk}
    with connections[current_role()].cursor() as cursor:
        cursor.execute("SELECT set_config('idle_in_transaction_session_timeout', %s, true)", [f"{STALLED_SECONDS}s"])
        cursor.execute("SELECT name, now() FROM accounts_account WHERE id = %(account)s", values)
        name, taken_at = cursor.fetchone()
        cursor.execute(MIGRATIONS)
        migrations = dict(cursor.fetchall())
        return {
            "format": FORMAT,
            "version": VERSION,
            "release": __version__,
            "migrations": migrations,
            "account": {"id": str(account.pk), "name": name},
            "taken_at": taken_at,
            "tables": {table: _n_rows(cursor, query, values) for table, query in _count_queries()},
            "columns": {table.name: table.columns for table in get_moving_tables()},
            "needs": {what: _first_column(cursor, query, values) for what, query in NEEDS.items()},
        }


def _count_queries() -> list[tuple[str, str]]:
    return [*((table.name, table.count) for table in get_moving_tables()), (MEMBERS, f"SELECT count(*) {MEMBERS_ROWS}")]


def _n_rows(cursor: Any, query: str, values: dict[str, Any]) -> int:
    return int(_first_column(cursor, query, values)[0])


def _first_column(cursor: Any, query: str, values: dict[str, Any]) -> list[Any]:
    cursor.execute(query, values)
    return [value for (value,) in cursor.fetchall()]


def _acquire_slot(account_id: int) -> None:
    """Acquire one of the few export slots until the transaction ends. Raises Problem if none is free."""
    with connections[current_role()].cursor() as cursor:
        if not EXPORT.try_take(cursor, account_id):
            raise _busy("Another export of this account runs.")
        if not any(EXPORT_PLACE.try_take(cursor, place) for place in range(MOST_AT_ONCE)):
            raise _busy(f"{MOST_AT_ONCE} exports of other accounts run.")


def _busy(detail: str) -> Problem:
    return Problem(detail, code="export_running", headers={"Retry-After": str(BUSY_SECONDS)})


def _line(value: dict[str, Any]) -> bytes:
    return orjson.dumps(value) + b"\n"


def _update_digest(digest: Any, part: bytes) -> bytes:
    digest.update(part)
    return part
