"""The evaluations of a search as CSV, for a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalsvc.accounts.models import Account
from evalsvc.console.pages.evaluations.verdicts import get_score
from evalsvc.console.parts.spreadsheets import csv_line
from evalsvc.evaluations.search.asked import SearchQuery
from evalsvc.evaluations.search.filters import evaluation_condition
from evalsvc.evaluations.search.pages import fetch_requests, search_evaluations
from evalsvc.evaluations.search.samples import VERDICT_COLUMNS
from evalsvc.evaluations.wire.scores import get_verdict_word, get_why
from evalsvc.tenancy.scope import account_scope

MAX_ROWS = 10_000
PART = 500
HEAD = (
    "id", "created_at", "app", "evaluator", "profile", "revision", "status", "error_code", "pass", "verdict", "why",
    "score", "made_by", "feedback", "log_id", "trace_id", "input", "output", "explanation",
)  # fmt: skip
TEXTS = ("input", "output")


def stream_csv(*, account: Account, asked: SearchQuery) -> Iterator[bytes]:
    """Yield a header and the newest MAX_ROWS rows, in batches.

    Each batch has a transaction of its own, so that a slow reader does not occupy a connection, and at most one batch
    of texts is in memory.
    """
    yield csv_line(HEAD)
    cursor, n = None, 0
    while n < MAX_ROWS:
        with account_scope(account.pk):
            rows, texts, cursor = _part(account, asked, cursor, min(PART, MAX_ROWS - n))
        yield b"".join(csv_line(_cells(row, texts.get(row.request_id))) for row in rows)
        n += len(rows)
        if cursor is None:
            return


def _part(
    account: Account, asked: SearchQuery, cursor: str | None, limit: int
) -> tuple[list[Any], dict[int, Any], str | None]:
    page = search_evaluations(
        account=account, condition=evaluation_condition(asked.filters), limit=limit, cursor=cursor, shows="inputs",
        columns=(*VERDICT_COLUMNS, "explanation", "extra"),
    )  # fmt: skip
    texts = fetch_requests(account=account, request_ids=[row.request_id for row in page.rows], columns=TEXTS)
    return page.rows, texts, page.next_cursor


def _cells(row: Any, texts: Any) -> tuple[object, ...]:
    why = get_why(row)
    return (
        row.id, row.created_at.isoformat(), row.app, row.evaluator_id, row.profile_name, row.profile_revision,
        row.status, row.error_code, row.passed, get_verdict_word(row.passed, can_be_undecided=why is not None), why,
        get_score(row), row.evaluation_type, row.feedback, row.log_id,
        row.trace_id, texts and texts.input, texts and texts.output, row.explanation,
    )  # fmt: skip
