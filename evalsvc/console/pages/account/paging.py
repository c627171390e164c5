"""Pagination of rows by ID, newest first."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest

Row = TypeVar("Row", bound=Model)
ON_A_PAGE = 50


def newest_part(request: HttpRequest, rows: QuerySet[Row]) -> tuple[list[Row], str | None]:
    """Return the rows below the address's cursor, newest first, and the cursor of those that follow."""
    asked = request.GET.get("cursor", "")
    if asked.isdecimal() and len(asked) < 19:
        rows = rows.filter(pk__lt=int(asked))
    found = list(rows[: ON_A_PAGE + 1])
    return found[:ON_A_PAGE], str(found[ON_A_PAGE - 1].pk) if len(found) > ON_A_PAGE else None
