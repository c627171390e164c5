"""Pagination of rows by ID, newest first."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest

Row = TypeVar("Row", bound=Model)
ON_A_PAGE = 50


def paginate_newest(request: HttpRequest, rows: QuerySet[Row]) -> tuple[list[Row], str | None]:
    """Return the rows below the address's cursor, newest first, and the cursor of those that follow."""
    cursor = request.GET.get("cursor", "")
    if cursor.isdecimal() and len(cursor) < 19:
        rows = rows.filter(pk__lt=int(cursor))
    page = list(rows[: ON_A_PAGE + 1])
    return page[:ON_A_PAGE], str(page[ON_A_PAGE - 1].pk) if len(page) > ON_A_PAGE else None
