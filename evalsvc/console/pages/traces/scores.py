"""The evaluations of a trace, grouped by span."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import Q
from django.utils.safestring import SafeString

from evalsvc.accounts.models import Account
from evalsvc.console.pages.evaluations.verdicts import verdict_chip
from evalsvc.evaluations.search.pages import fetch_requests, search_evaluations
from evalsvc.evaluations.search.samples import VERDICT_COLUMNS

MAX_SCORES = 500


def scores_of_trace(*, account: Account, trace_id: str) -> Mapping[str, Sequence[SafeString]]:
    """Return the verdicts of a trace by span id, as links; those without a span are under the empty string."""
    page = search_evaluations(
        account=account, condition=Q(trace_id=trace_id), limit=MAX_SCORES, columns=VERDICT_COLUMNS, oldest_first=True
    )
    rows_by_id = fetch_requests(account=account, request_ids=[row.request_id for row in page.rows])
    scores: dict[str, list[SafeString]] = {}
    for row in page.rows:
        request = rows_by_id.get(row.request_id)
        scores.setdefault((request.span_id if request else None) or "", []).append(verdict_chip(row))
    return scores
