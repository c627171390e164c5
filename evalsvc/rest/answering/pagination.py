"""Opaque cursors over ordered lists: stable while rows are added, and bound to the list they came from."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet

from evalsvc.rest.problems import FieldError, Invalid

Row = TypeVar("Row", bound=Model)
SALT = "evalsvc.cursor"


class TimeCursor(NamedTuple):
    """Where a page of a list by time ended: the last row's time and id."""

    moment: datetime
    last_id: int


def page(rows: QuerySet[Row], *, limit: int, cursor: str | None, of: str) -> tuple[list[Row], str | None]:
    """Return up to `limit` rows, newest first, and the cursor of the next page (None on the last).

    `of` names the list and its owner; a cursor of another list is refused.
    """
    if cursor:
        rows = rows.filter(id__lt=read_cursor(cursor, of=of))
    if not limit:
        return [], cursor
    page_rows = list(rows.order_by("-id")[: limit + 1])
    if len(page_rows) <= limit:
        return page_rows, None
    # By its id: a history's primary key is more than that.
    last: Any = page_rows[limit - 1]
    return page_rows[:limit], write_cursor(last.id, of=of)


def write_cursor(last_id: int, *, of: str) -> str:
    """Sign where a page ended."""
    return signing.dumps([last_id], salt=f"{SALT}:{of}", compress=False)


def read_cursor(cursor: str, *, of: str) -> int:
    """Return where the page before ended, or raise Invalid."""
    try:
        value: Any = signing.loads(cursor, salt=f"{SALT}:{of}")
        return int(value[0])
    except (signing.BadSignature, ValueError, TypeError, IndexError):
        raise not_a_cursor() from None


def write_number_cursor(value: float | None, last_id: int, *, of: str) -> str:
    """Sign where a page of a list by a number (null last) and an id ended."""
    return signing.dumps([value, last_id], salt=f"{SALT}:by_number:{of}", compress=False)


def read_number_cursor(cursor: str, *, of: str) -> tuple[float | None, int]:
    """Return where the page before of a list by a number ended, or raise Invalid."""
    try:
        value, last_id = signing.loads(cursor, salt=f"{SALT}:by_number:{of}")
        return None if value is None else float(value), int(last_id)
    except (signing.BadSignature, ValueError, TypeError):
        raise not_a_cursor() from None


def order_by_time(
    rows: QuerySet[Row], *, after: TimeCursor | None = None, oldest_first: bool = False, id: str = "id"
) -> QuerySet[Row]:
    """Order rows by `created_at` and the column `id`, newest first, and begin after a cursor."""
    if after is not None:
        # The first part bounds the scan of an index on both columns; PostgreSQL cannot see that from an OR.
        moment, last_id = after
        reaches, past = ("gte", "gt") if oldest_first else ("lte", "lt")
        rows = rows.filter(Q(**{f"created_at__{past}": moment}) | Q(**{f"{id}__{past}": last_id}))
        rows = rows.filter(**{f"created_at__{reaches}": moment})
    return rows.order_by("created_at", id) if oldest_first else rows.order_by("-created_at", f"-{id}")


def write_time_cursor(cursor: TimeCursor, *, of: str) -> str:
    """Sign where a page of a list by time ended."""
    return signing.dumps([cursor.moment.isoformat(), cursor.last_id], salt=f"{SALT}:by_time:{of}", compress=False)


def read_time_cursor(cursor: str, *, of: str) -> TimeCursor:
    """Return where the page before of a list by time ended, or raise Invalid."""
    try:
        moment, last_id = signing.loads(cursor, salt=f"{SALT}:by_time:{of}")
        return TimeCursor(datetime.fromisoformat(moment), int(last_id))
    except (signing.BadSignature, ValueError, TypeError):
        raise not_a_cursor() from None


def not_a_cursor() -> Invalid:
    """Make the refusal of a cursor that was not made for this list."""
    return Invalid(FieldError("/cursor", "Not a cursor of this list; take `next_cursor` of the page before."))
