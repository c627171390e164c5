"""Words are looked for by steps back in time, for as long as a page has: no index serves them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from evalsvc.accounts.models import Account
from evalsvc.evaluations.search.asked import Filter, SearchQuery, bounds
from evalsvc.evaluations.search.filters import evaluation_condition
from evalsvc.evaluations.search.samples import SamplePage, SampleRow, search_samples
from evalsvc.rest.problems import Problem
from evalsvc.tenancy.scope import current_role

WHOLE_SECONDS = 0.08
"""For one search through the whole time; what takes longer is looked for by steps."""
FIRST_STEP = timedelta(hours=1)
WIDEST_STEP = timedelta(days=4)
BUDGET_SECONDS = 0.08
"""After that no further step begins."""


@dataclass(frozen=True, slots=True)
class WordsPage:
    """What was found, and from when to when the next page looks; None where all was looked through."""

    found: SamplePage
    left: tuple[datetime, datetime] | None = None


def search_words(
    *, account: Account, asked: SearchQuery, now: datetime, limit: int, cursor: str | None = None
) -> WordsPage:
    """Return the newest samples with these words, until a page is full or its time is used up. Within the scope."""
    try:
        with transaction.atomic(using=current_role()):
            condition = evaluation_condition(asked.filters)
            page = search_samples(
                account=account, condition=condition, limit=limit, cursor=cursor, seconds=WHOLE_SECONDS
            )
            return WordsPage(page)
    except Problem as problem:
        if problem.code != "search_too_slow":
            raise
    return search_by_steps(account=account, asked=asked, now=now, limit=limit, cursor=cursor)


def search_by_steps(
    *,
    account: Account,
    asked: SearchQuery,
    now: datetime,
    limit: int,
    cursor: str | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> WordsPage:
    """Look from the newest back, step by step.

    Steps double, so that the one that goes beyond the budget costs about as much as all before it.
    """
    since, until = bounds(asked.values, now)
    assert since is not None  # noqa: S101  the filters refuse words without a time
    rows: list[SampleRow] = []
    began, end, step = clock(), (until or now).replace(microsecond=0), FIRST_STEP
    # What was made in this very second is in the first step.
    is_open = until is None
    while True:
        start = max(since, end - step)
        filters = [
            *asked.filters,
            _build_time_filter("ge", start),
            *([] if is_open else [_build_time_filter("lt", end)]),
        ]
        condition, n_met = evaluation_condition(filters), sum(len(row.met) for row in rows)
        page = search_samples(account=account, condition=condition, limit=limit - n_met, cursor=cursor)
        rows += page.rows
        if page.next_cursor is not None or start <= since:
            return WordsPage(SamplePage(rows, page.next_cursor))
        if n_met + sum(len(row.met) for row in page.rows) >= limit or clock() - began > BUDGET_SECONDS:
            return WordsPage(SamplePage(rows, None), (since, start))
        end, step, is_open = start, min(2 * step, WIDEST_STEP), False


def _build_time_filter(operation: str, moment: datetime) -> Filter:
    return {"field": "created_at", "operation": operation, "value": moment.isoformat()}
