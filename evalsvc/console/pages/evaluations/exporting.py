"""The evaluations of a search as CSV, for a spreadsheet: a cell that looks like a formula begins with an apostrophe."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from django.db.models import Q

from evalsvc.accounts.models import Account
from evalsvc.console.pages.evaluations.filters import AskedFilters
from evalsvc.console.pages.evaluations.verdicts import shown_score
from evalsvc.datasets.exports import guarded
from evalsvc.evaluations.search.filters import evaluation_condition
from evalsvc.evaluations.search.pages import requests_of, search_evaluations
from evalsvc.evaluations.search.samples import VERDICT_COLUMNS

MAX_ROWS = 10_000
PART = 500
HEAD = (
    "id", "created_at", "app", "evaluator", "profile", "revision", "status", "error_code", "pass", "score", "made_by",
    "feedback", "log_id", "trace_id", "input", "output", "explanation",
)  # fmt: skip
TEXTS = ("input", "output")


def csv_of(*, account: Account, asked: AskedFilters) -> Iterator[bytes]:
    """Yield a header and the newest MAX_ROWS rows, part by part. Within the account's scope."""
    yield _line(HEAD)
    condition = evaluation_condition(asked.filters) if asked.filters else Q()
    cursor, n = None, 0
    while n < MAX_ROWS:
        page = search_evaluations(
            account=account, condition=condition, limit=min(PART, MAX_ROWS - n), cursor=cursor, shows="inputs",
            columns=(*VERDICT_COLUMNS, "explanation"),
        )  # fmt: skip
        texts = requests_of(account=account, request_ids=[row.request_id for row in page.rows], columns=TEXTS)
        yield b"".join(_line(_cells(row, texts.get(row.request_id))) for row in page.rows)
        n, cursor = n + len(page.rows), page.next_cursor
        if cursor is None:
            return


def _cells(row: Any, texts: Any) -> tuple[object, ...]:
    return (
        row.id, row.created_at.isoformat(), row.app, row.evaluator_id, row.profile_name, row.profile_revision,
        row.status, row.error_code, row.passed, shown_score(row), row.evaluation_type, row.feedback, row.log_id,
        row.trace_id, texts and texts.input, texts and texts.output, row.explanation,
    )  # fmt: skip


def _line(cells: tuple[object, ...]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow([guarded(one) if isinstance(one, str) else one for one in cells])
    return line.getvalue().encode("utf-8", "replace")
