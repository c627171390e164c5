"""Traces as people look through them: a line for each, the newest first, with what its spans add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Min, Q

from evalsvc.accounts.models import Account
from evalsvc.rest.answering.pagination import TimeCursor, read_time_cursor, write_time_cursor
from evalsvc.rest.edge.time_limit import in_time
from evalsvc.telemetry.models import Span
from evalsvc.telemetry.selectors import TIMEOUT_SECONDS

FAILED = 2
COLUMNS = ("id", "trace_id", "span_id", "name", "service_name", "app", "started_at", "duration_ns", "status_code")


@dataclass(frozen=True, slots=True)
class TraceLine:
    """A trace: a span of it that was searched for, and what all its spans add up to."""

    found: Any
    n_spans: int
    n_failed: int
    started_at: datetime
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class TracePage:
    """Traces in the order of the spans that were found, and the cursor of the next page."""

    rows: list[TraceLine]
    next_cursor: str | None


def search_traces(*, account: Account, condition: Q, limit: int, cursor: str | None = None) -> TracePage:
    """Return the traces of spans that meet a condition, the newest first; `limit` counts spans.

    Raises Problem `search_too_slow`, and Invalid for a cursor of another list. Within the account's scope.
    """
    of = f"traces:{account.pk}"
    rows = Span.objects.filter(condition, account=account)
    if cursor:
        moment, last_id = read_time_cursor(cursor, of=of)
        rows = rows.filter(Q(started_at__lt=moment) | Q(id__lt=last_id), started_at__lte=moment)
    with in_time(TIMEOUT_SECONDS, what="The search"):
        rows_found = list(rows.order_by("-started_at", "-id").values_list(*COLUMNS, named=True)[: limit + 1])
        first: dict[str, Any] = {}
        for row in rows_found[:limit]:
            first.setdefault(row.trace_id, row)
        sums = _sums(account, list(first))
    lines = [TraceLine(row, *sums[id]) for id, row in first.items() if id in sums]
    if len(rows_found) <= limit:
        return TracePage(lines, None)
    last = rows_found[limit - 1]
    return TracePage(lines, write_time_cursor(TimeCursor(last.started_at, last.id), of=of))


def _sums(account: Account, trace_ids: Sequence[str]) -> dict[str, tuple[int, int, datetime, datetime]]:
    rows = Span.objects.filter(account=account, trace_id__in=trace_ids).values("trace_id").order_by()
    summed = rows.annotate(
        n=Count("id"), failed=Count("id", filter=Q(status_code=FAILED)), first=Min("started_at"), last=Max("ended_at")
    )
    return {row["trace_id"]: (row["n"], row["failed"], row["first"], row["last"]) for row in summed}
