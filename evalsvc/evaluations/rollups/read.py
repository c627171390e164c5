"""Daily statistics of an account for pages: pass rates of its apps and profiles by day, and failures by code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import NamedTuple

from django.db import connection

from evalsvc.accounts.models import Account
from evalsvc.evaluations.rollups.counts import DayCounts, DayRange, FailureCount, PassRate, sum_counts
from evalsvc.evaluations.verdicts import UNDECIDED
from evalsvc.tenancy.scope import account_scope

NONE = DayCounts()
DAYS = """
SELECT nullif(app, ''), evaluator_id, profile_name, day, error_code, n, n_scored, n_pass, n_fail, total, squares
FROM days_of(%(account)s, %(first)s, %(last)s, NULL, NULL)
"""
BEFORE = """
SELECT coalesce(sum(n_scored), 0) FROM days_of(%(account)s, '0001-01-01', %(last)s, NULL, NULL)
"""


class DaysReading(NamedTuple):
    """Pass rates and failures of the same days, from one query."""

    rates: list[PassRate]
    failures: list[FailureCount]


def read_days(*, account: Account, days: DayRange) -> DaysReading:
    """Return how often each app and profile passed in these days, and how often its evaluations ended in each error.

    The most evaluated and the most frequent come first. One query.
    """
    rows = list(_read(account, days))
    return DaysReading(_rates(rows, days), _failures(rows))


def scores_before(*, account: Account, day: date) -> int:
    """Return how many scores of captured evaluations are of days before one. One query."""
    with account_scope(account.pk), connection.cursor() as cursor:
        cursor.execute(BEFORE, {"account": account.pk, "last": day - timedelta(days=1)})
        return int(cursor.fetchone()[0])


class _Row(NamedTuple):
    app: str | None
    evaluator_id: str
    profile_name: str
    day: date
    error_code: str
    counts: DayCounts


def _read(account: Account, days: DayRange) -> Iterator[_Row]:
    with account_scope(account.pk), connection.cursor() as cursor:
        cursor.execute(DAYS, {"account": account.pk, "first": days.first, "last": days.last})
        for app, evaluator_id, profile_name, day, code, n, *sums in cursor.fetchall():
            error_code, n_undecided = ("", n) if code == UNDECIDED else (code, 0)
            counts = DayCounts(n, n if error_code else 0, *sums, n_undecided=n_undecided)
            yield _Row(app, evaluator_id, profile_name, day, error_code, counts)


def _rates(rows: Iterable[_Row], days: DayRange) -> list[PassRate]:
    series: dict[tuple[str | None, str, str], dict[date, list[DayCounts]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        series[row.app, row.evaluator_id, row.profile_name][row.day].append(row.counts)
    pass_rates = [
        PassRate(
            *key,
            sum_counts(counts for many in by_day.values() for counts in many),
            tuple(sum_counts(by_day[day]) if day in by_day else NONE for day in days.days),
        )
        for key, by_day in series.items()
    ]
    return sorted(pass_rates, key=lambda rate: (-rate.counts.n, rate.app or "", rate.evaluator_id, rate.profile_name))


def _failures(rows: Iterable[_Row]) -> list[FailureCount]:
    rows_by_key: dict[tuple[str, str | None, str, str], list[_Row]] = defaultdict(list)
    for row in rows:
        if row.error_code:
            rows_by_key[row.error_code, row.app, row.evaluator_id, row.profile_name].append(row)
    failures = (
        FailureCount(*key, sum(row.counts.n for row in rows), max(row.day for row in rows))
        for key, rows in rows_by_key.items()
    )
    return sorted(failures, key=lambda one: (-one.n, one.code, one.app or "", one.evaluator_id, one.profile_name))
