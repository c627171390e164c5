"""What pages ask of an account's days: pass rates of its apps and profiles, their course, and failures by code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import Any, NamedTuple

from django.db import connection

from evalsvc.accounts.models import Account
from evalsvc.evaluations.rollups.counts import DayCounts, DayRange, FailureCount, PassRate, added
from evalsvc.tenancy.scope import account_scope

NONE = DayCounts()
DAYS = """
SELECT nullif(app, ''), evaluator_id, profile_name, day, error_code, n, n_scored, n_pass, n_fail, total, squares
FROM days_of(%(account)s, %(first)s, %(last)s, %(evaluator)s, %(profile)s) WHERE %(app)s::text IS NULL OR app = %(app)s
"""

BEFORE = """
SELECT coalesce(sum(n_scored), 0) FROM days_of(%(account)s, '0001-01-01', %(last)s, NULL, NULL)
"""


class DaysReading(NamedTuple):
    """Pass rates and failures of the same days, from one query."""

    rates: list[PassRate]
    failures: list[FailureCount]


def read_days(*, account: Account, days: DayRange) -> DaysReading:
    """Return `pass_rates` and `failures_by_code` of the same rows. One query."""
    rows = list(_read(account, days))
    return DaysReading(_rates(rows, days), _failures(rows))


def pass_rates(*, account: Account, days: DayRange, app: str | None = None) -> list[PassRate]:
    """Return the pass rate of each app and profile that has evaluations in these days, with its course day by day.

    The most evaluated first. One query. `app` leaves the others out.
    """
    return _rates(_read(account, days, app=app), days)


def day_series(
    *, account: Account, days: DayRange, evaluator_id: str, profile_name: str, app: str | None = None
) -> tuple[DayCounts, ...]:
    """Return what was counted of one evaluator and profile on each of these days, in all apps or in one. One query."""
    by_day: dict[date, list[DayCounts]] = defaultdict(list)
    for row in _read(account, days, app=app, evaluator=evaluator_id, profile=profile_name):
        by_day[row.day].append(row.counts)
    return _course(by_day, days)


def failures_by_code(*, account: Account, days: DayRange, app: str | None = None) -> list[FailureCount]:
    """Return how often evaluations ended in each error, by app and profile, the most frequent first. One query."""
    return _failures(_read(account, days, app=app))


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


def _read(account: Account, days: DayRange, **only: Any) -> Iterator[_Row]:
    values: dict[str, Any] = {
        "account": account.pk,
        "first": days.first,
        "last": days.last,
        "app": None,
        "evaluator": None,
    }
    with account_scope(account.pk), connection.cursor() as cursor:
        cursor.execute(DAYS, values | {"profile": None} | only)
        for app, evaluator_id, profile_name, day, code, n, *sums in cursor.fetchall():
            yield _Row(app, evaluator_id, profile_name, day, code, DayCounts(n, n if code else 0, *sums))


def _rates(rows: Iterable[_Row], days: DayRange) -> list[PassRate]:
    series: dict[tuple[str | None, str, str], dict[date, list[DayCounts]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        series[row.app, row.evaluator_id, row.profile_name][row.day].append(row.counts)
    found = [
        PassRate(*key, added(one for many in by_day.values() for one in many), _course(by_day, days))
        for key, by_day in series.items()
    ]
    return sorted(found, key=lambda rate: (-rate.counts.n, rate.app or "", rate.evaluator_id, rate.profile_name))


def _failures(rows: Iterable[_Row]) -> list[FailureCount]:
    found: dict[tuple[str, str | None, str, str], list[_Row]] = defaultdict(list)
    for row in rows:
        if row.error_code:
            found[row.error_code, row.app, row.evaluator_id, row.profile_name].append(row)
    failures = (
        FailureCount(*key, sum(row.counts.n for row in rows), max(row.day for row in rows))
        for key, rows in found.items()
    )
    return sorted(failures, key=lambda one: (-one.n, one.code, one.app or "", one.evaluator_id, one.profile_name))


def _course(by_day: dict[date, list[DayCounts]], days: DayRange) -> tuple[DayCounts, ...]:
    return tuple(added(by_day[day]) if day in by_day else NONE for day in days.days)
