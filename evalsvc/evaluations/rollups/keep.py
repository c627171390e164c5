"""Maintain the daily counts: apply the deltas that triggers record, and recount."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from django.db import connections, transaction

from evalsvc.tenancy.scope import SYSTEM

PORTION = 20_000
TIME_SECONDS = 5.0
"""How long a run goes on folding: the process that folds also sweeps."""
FOLD = "SELECT fold_rollups(%s)"
IS_EMPTY = "SELECT NOT EXISTS (SELECT 1 FROM evaluations_dailyrollup)"
# Ids below the first partition's end, each month, and above the last partition: together all.
MONTHS = """
SELECT low, high FROM partitions_of('evaluations_evaluation')
UNION ALL SELECT max(high), NULL FROM partitions_of('evaluations_evaluation') ORDER BY 1 NULLS FIRST
"""
# Must be the first statement, so that the snapshot includes earlier recounts. Writers are not blocked.
ONE_AT_A_TIME = "LOCK TABLE evaluations_dailyrollup IN SHARE UPDATE EXCLUSIVE MODE"
MEND = """
INSERT INTO evaluations_rollupdelta (
  account_id, day, arrived, app, evaluator_id, profile_name, error_code, n, n_scored, n_pass, n_fail, total, squares)
SELECT d.* FROM differing_rollups(%(low)s, %(high)s) d WHERE %(account)s::bigint IS NULL OR account_id = %(account)s
"""


class Month(NamedTuple):
    """The ids of a partition, from `low` to before `high`; None: without that end."""

    low: int | None
    high: int | None


def apply_deltas(*, seconds: float | None = TIME_SECONDS) -> int:
    """Add recorded deltas to the days; stop after `seconds` (None: when all are added). Return the number of deltas.

    If no day is counted yet, evaluations might predate the triggers: those are counted first.
    """
    if _is_empty():
        for _ in recount_days():
            pass
    began, n = time.monotonic(), 0
    while portion := _fold():
        n += portion
        if portion < PORTION or (seconds is not None and time.monotonic() - began >= seconds):
            break
    return n


def recount_days(account_id: int | None = None) -> Iterator[tuple[Month, int]]:
    """Recount all evaluations, or one account's; yield each month and how many of its counts were wrong.

    Differences are computed within one snapshot and recorded like any other change: concurrent writes add the same to
    both sides. Each month is a transaction; an interrupted recount starts over.
    """
    for month in _months():
        yield month, _mend(month, account_id)


def _is_empty() -> bool:
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(IS_EMPTY)
        return bool(cursor.fetchone()[0])


def _fold() -> int:
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(FOLD, [PORTION])
        return int(cursor.fetchone()[0])


def _months() -> list[Month]:
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(MONTHS)
        return [Month(*row) for row in cursor.fetchall()]


def _mend(month: Month, account_id: int | None) -> int:
    with transaction.atomic(using=SYSTEM), connections[SYSTEM].cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute(ONE_AT_A_TIME)
        cursor.execute(MEND, {**month._asdict(), "account": account_id})
        return int(cursor.rowcount)
