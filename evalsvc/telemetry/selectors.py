"""Reads: a trace with its logs, one log. Answers are bounded by rows and by bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeVar

from django.db.models import Q

from evalsvc.accounts.models import Account
from evalsvc.rest.edge.time_limit import in_time
from evalsvc.rest.problems import NotFound
from evalsvc.telemetry.models import LogRecord, Span

# What no index serves walks the account's rows, and that must end.
TIMEOUT_SECONDS = 10
MAX_ANSWER_BYTES = 16 * 1024 * 1024
Telemetry = TypeVar("Telemetry", Span, LogRecord)
TRACE_ID = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Trace:
    """A page of a trace: spans and logs in the order of time."""

    trace_id: str
    spans: list[Span]
    logs: list[LogRecord]
    next_offset: int | None


def get_trace(*, account: Account, trace_id: str, limit: int, offset: int) -> Trace:
    """Return up to `limit` spans and as many logs from `offset` on; NotFound for missing and foreign alike."""
    trace_id = trace_id.lower()
    if not TRACE_ID.fullmatch(trace_id):
        raise NotFound
    spans = Span.objects.filter(account=account, trace_id=trace_id).order_by("started_at", "span_id")
    logs = LogRecord.objects.filter(account=account, trace_id=trace_id).order_by("occurred_at", "id")
    if not spans.exists() and not logs.exists():
        raise NotFound
    # The sizes of one row more than the page has, which tells whether there is a next one.
    sizes = [list(rows.values_list("id", "n_bytes")[offset : offset + limit + 1]) for rows in (spans, logs)]
    n = fitting([size for _, size in sizes[0]], [size for _, size in sizes[1]], limit)
    ids = [[id for id, _ in rows[:n]] for rows in sizes]
    has_more = any(len(rows) > n for rows in sizes)
    records = list(spans.filter(id__in=ids[0])), list(logs.filter(id__in=ids[1]))
    return Trace(trace_id, *records, offset + n if has_more else None)


def get_span(*, account: Account, trace_id: str, span_id: str) -> Span:
    """Return a span by its ids; NotFound for missing and foreign alike."""
    ids = {"trace_id": trace_id.lower(), "span_id": span_id.lower()}
    span = None if "\0" in trace_id + span_id else Span.objects.filter(account=account, **ids).first()
    if span is None:
        raise NotFound
    return span


def fitting(spans: list[int], logs: list[int], limit: int) -> int:
    """Return how many spans and as many logs fit into an answer: at least one."""
    total = n = 0
    for sizes in zip_longest(spans[:limit], logs[:limit], fillvalue=0):
        total += sum(sizes)
        if n and total > MAX_ANSWER_BYTES:
            break
        n += 1
    return n


def get_log(*, account: Account, log_id: str) -> LogRecord:
    """Return the log with this id; NotFound for missing and foreign alike."""
    # PostgreSQL takes no NUL, not even in a question.
    row = None if "\0" in log_id else LogRecord.objects.filter(account=account, log_id=log_id).first()
    if row is None:
        raise NotFound
    return row


def search(
    *, account: Account, model: type[Telemetry], condition: Q, oldest_first: bool, limit: int
) -> list[Telemetry]:
    """Return spans or logs that meet a condition, by time; fewer than `limit` where the answer would grow too large.

    Raises Problem `search_too_slow`. Within the account's scope.
    """
    time, id = ("started_at" if model is Span else "occurred_at"), "id"
    order = (time, id) if oldest_first else (f"-{time}", f"-{id}")
    with in_time(TIMEOUT_SECONDS, what="The search"):
        rows = model.objects.filter(condition, account=account).order_by(*order)
        sizes = list(rows.values_list("id", "n_bytes")[:limit])
        n = fitting([size for _, size in sizes], [], limit)
        return list(model.objects.filter(account=account, id__in=[id for id, _ in sizes[:n]]).order_by(*order))
