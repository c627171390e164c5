"""Monitors of how many evaluations arrive: in a window that slides by quarters, against a fixed limit.

Time is that in the ids, in UTC. A quarter is counted once, when nothing can be added to it any more (`find_end`), so
that reading it again gives the same count and the same alarms.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import BigIntegerField, Count, ExpressionWrapper, F

from evalsvc.accounts.models import AuditEntry
from evalsvc.evaluations.models import Pruned
from evalsvc.monitors.alarms import close_alarm, find_open_alarm, open_alarm
from evalsvc.monitors.evidence import MOST_EXAMPLES, write_moment
from evalsvc.monitors.models import WATCHED, Alarm, Monitor
from evalsvc.monitors.scores import CLOCK_SLACK, Position, filter_captured
from evalsvc.stats.monitors.detector import Direction
from evalsvc.stats.monitors.volume import PARTS, find_window
from evalsvc.tenancy.scope import EPOCH, id_at

COUNTS = "counts"
"""In the progress: the quarter that is counted next, since 2026, and the counts of the last three before it."""
MOST_QUARTERS = 10_000
MINUTE = 60_000


def start_counts(monitor: Monitor, position: Position) -> dict[str, Any]:
    """Return the progress of a monitor of volume: it counts from the first full quarter behind a position on."""
    return {COUNTS: {"next": (position.id >> 22) // _get_quarter(monitor) + 1, "last": []}}


def advance_volume(monitor: Monitor, end: Position, now: datetime) -> int:
    """Count the quarters that are complete, with the alarms and recoveries they make; return how many evaluations."""
    stored, quarter = monitor.progress[COUNTS], _get_quarter(monitor)
    first, earlier = stored["next"], stored["last"]
    behind = min((end.id + 1 >> 22) // quarter, first + MOST_QUARTERS)
    if behind <= first:
        return 0
    counts = _count(monitor, first, behind)
    gap_end = _find_gap_end(monitor, first)
    if (gap_end >> 22) // quarter >= first:
        monitor.progress = monitor.progress | start_counts(monitor, Position(end.xact, gap_end))
        return 0
    series, begin = [*earlier, *counts], 0
    direction: Direction = "rise" if monitor.direction == Monitor.Direction.RISE else "drop"
    limit, is_alarmed = round(monitor.limit or 0), find_open_alarm(monitor) is not None
    while (found := find_window(series[begin:], limit, direction=direction, beyond=not is_alarmed)) is not None:
        last = begin + found
        if is_alarmed:
            close_alarm(monitor, Alarm.Reason.RECOVERED, now=now)
        else:
            n = sum(series[last - PARTS + 1 : last + 1])
            _raise_alarm(monitor, _find_moment(monitor, first - len(earlier) + last + 1), n, now)
        is_alarmed = not is_alarmed
        # The next window ends a quarter later.
        begin = last - PARTS + 2
    monitor.progress = monitor.progress | {COUNTS: {"next": behind, "last": series[1 - PARTS :]}}
    monitor.n_scores += sum(counts)
    monitor.n_units += sum(counts)
    return sum(counts)


def _find_gap_end(monitor: Monitor, first: int) -> int:
    """Return the id until which nothing says how much arrived: it has expired, or the account was off."""
    pruned = Pruned.objects.filter(account_id=monitor.account_id).values_list("evaluations_until", flat=True).first()
    switched = AuditEntry.objects.filter(
        account_id=monitor.account_id, action="account.switched_on", id__gte=id_at(_find_moment(monitor, first))
    )
    return max(pruned or 0, switched.order_by("-id").values_list("id", flat=True).first() or 0)


def get_counted_end(monitor: Monitor, xact: str) -> Position:
    """Return the position up to which quarters are counted: what fails behind it may still be tried again."""
    return Position(xact, id_at(_find_moment(monitor, monitor.progress[COUNTS]["next"])) - 1)


def _count(monitor: Monitor, first: int, behind: int) -> list[int]:
    """Return the number of evaluations of each quarter, from one to before another."""
    start, stop = (_find_moment(monitor, number) for number in (first, behind))
    # An evaluation is made after its id. The time bounds the scan of the index.
    rows = filter_captured(monitor).filter(
        id__gte=id_at(start), id__lt=id_at(stop), created_at__gte=start - CLOCK_SLACK
    )
    number = ExpressionWrapper(F("id").bitrightshift(22) / _get_quarter(monitor), output_field=BigIntegerField())
    found = dict(rows.order_by().values_list(number).annotate(n=Count("id")))
    return [found.get(quarter, 0) for quarter in range(first, behind)]


def _raise_alarm(monitor: Monitor, stop: datetime, n: int, now: datetime) -> None:
    start = stop - timedelta(minutes=monitor.period_minutes or 0)
    ends = {
        name: {"score_id": None, "created_at": write_moment(moment)}
        for name, moment in (("at", start), ("lower", start), ("upper", stop))
    }
    newest = filter_captured(monitor).filter(id__lt=id_at(stop)).order_by("-created_at", "-id")
    evidence = {
        **ends,
        "before": monitor.limit,
        "after": float(n),
        "n_units": n,
        "n_scores": n,
        "slices": [],
        "examples": [str(id) for id in newest.values_list("id", flat=True)[:MOST_EXAMPLES]],
        "watched": {name: getattr(monitor, name) for name in WATCHED},
    }
    open_alarm(monitor, score_id=None, evidence=evidence, now=now)


def _find_moment(monitor: Monitor, number: int) -> datetime:
    return EPOCH + timedelta(milliseconds=number * _get_quarter(monitor))


def _get_quarter(monitor: Monitor) -> int:
    """Return the milliseconds of a quarter of the monitor's window."""
    return (monitor.period_minutes or 0) * MINUTE // PARTS
