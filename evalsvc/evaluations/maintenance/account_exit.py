"""Delete a leaving account's rows from the large tables, in portions, each in a transaction of its own.

An interrupted deletion continues when it is run again: deleted rows need no record, and the progress of the walk over
all accounts' requests is stored where retention stores its own. Scores are deleted last, so that `verify` reports
nothing missing meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from django.db import connections, transaction
from django.db.utils import OperationalError

from evalsvc.evaluations.maintenance.retention import (
    DELETE_SCORES,
    EARLIEST_MS,
    EVALUATIONS_UNTIL,
    PORTION,
    delete_requests,
    delete_slice,
    list_history_keys,
)
from evalsvc.tenancy.scope import SYSTEM

TRIES, PAUSE_SECONDS = 20, 0.5
DEADLOCK = "40P01"
MAX_ID = 2**63 - 1
# A worker that finishes an evaluation locks its request first.
LOCK_PENDING = """
SELECT id FROM evaluations_evaluationrequest WHERE account_id = %(account)s AND id = ANY(ARRAY(
  SELECT request_id FROM evaluations_evaluation WHERE account_id = %(account)s AND status = 'pending' LIMIT %(portion)s
)) ORDER BY id FOR UPDATE
"""
KNOWN = "SELECT evaluations_until FROM evaluations_pruned WHERE account_id = %s"
NOW = "SELECT id_at(clock_timestamp()) + (1::bigint << 22)"
# Evaluations without a request, as far as an index can find them.
STRAYS = {
    condition: f"""
DELETE FROM evaluations_evaluation WHERE account_id = %(account)s AND id = ANY(ARRAY(
  SELECT id FROM evaluations_evaluation WHERE account_id = %(account)s AND {condition} LIMIT %(portion)s))
"""  # noqa: S608  # nosec B608  conditions are ours
    for condition in ("captured", "status = 'pending'")
}
T = TypeVar("T")


def delete_pending(account_id: int) -> Iterator[int]:
    """Delete the requests that workers have still to do with; yield how many each portion was of."""
    while n := in_transaction(_pending, account_id):
        yield n


def delete_from(account_id: int, first: int | None, *, is_known: bool = True) -> Iterator[int]:
    """Delete all requests from an id on, with their evaluations; None continues where the last run ended.

    Walks over the requests of all accounts, since they have no index by account, and yields after each portion.
    `is_known` means that the account still exists, so that progress can be recorded for it.
    """
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(NOW)
        (until,) = cursor.fetchone()
        cursor.execute(KNOWN, [account_id])
        row = cursor.fetchone()
    following: int = first if first is not None else (row and row[0]) or EARLIEST_MS << 22
    while following < until:
        n, following = in_transaction(_slice, account_id, following, until, is_known)
        yield n


def delete_strays(account_id: int) -> Iterator[int]:
    """Delete evaluations without a request, which `delete_from` cannot find."""
    for sql in STRAYS.values():
        while n := in_transaction(_delete, sql, {"account": account_id, "portion": PORTION}):
            yield n


def delete_scores(account_id: int) -> Iterator[int]:
    """Delete every score of every history; yield how many each portion was of."""
    for history in list_history_keys(account_id):
        values = {"account": account_id, "until": MAX_ID, "portion": PORTION, **history}
        while n := in_transaction(_delete, DELETE_SCORES, values):
            yield n


def in_transaction(work: Callable[..., T], *values: object) -> T:
    """Call work(cursor, *values) in a transaction; retry after a deadlock."""
    for remaining_tries in reversed(range(TRIES)):
        try:
            with transaction.atomic(using=SYSTEM), connections[SYSTEM].cursor() as cursor:
                return work(cursor, *values)
        except OperationalError as exc:
            if getattr(exc.__cause__, "sqlstate", None) != DEADLOCK or not remaining_tries:
                raise
            time.sleep(PAUSE_SECONDS)
    raise AssertionError("the last try returns or raises")


def _pending(cursor: Any, account_id: int) -> int:
    cursor.execute(LOCK_PENDING, {"account": account_id, "portion": PORTION})
    ids = [id for (id,) in cursor.fetchall()]
    if ids:
        delete_requests(cursor, ids)
    return len(ids)


def _slice(cursor: Any, account_id: int, first: int, until: int, is_known: bool) -> tuple[int, int]:
    n, following = delete_slice(cursor, [account_id], first, until)
    if is_known:
        cursor.execute(EVALUATIONS_UNTIL, {"accounts": [account_id], "until": following})
    return n, following


def _delete(cursor: Any, sql: str, values: dict[str, Any]) -> int:
    cursor.execute(sql, values)
    return int(cursor.rowcount)
