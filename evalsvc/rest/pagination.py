"""Opaque cursors over id-ordered lists: stable while rows are added, and bound to the list they came from."""

from __future__ import annotations

from typing import Any, TypeVar

from django.core import signing
from django.db.models import Model, QuerySet

from evalsvc.rest.problems import FieldError, Invalid

Row = TypeVar("Row", bound=Model)
SALT = "evalsvc.cursor"


def page(rows: QuerySet[Row], *, limit: int, cursor: str | None, of: str) -> tuple[list[Row], str | None]:
    """Return up to `limit` rows, newest first, and the cursor of the next page (None on the last).

    `of` names the list and its owner; a cursor of another list is refused.
    """
    if cursor:
        rows = rows.filter(id__lt=read_cursor(cursor, of=of))
    found = list(rows.order_by("-id")[: limit + 1])
    if len(found) <= limit:
        return found, None
    return found[:limit], write_cursor(found[limit - 1].pk, of=of)


def write_cursor(last_id: int, *, of: str) -> str:
    """Sign the place where a page ended."""
    return signing.dumps([last_id], salt=f"{SALT}:{of}", compress=False)


def read_cursor(cursor: str, *, of: str) -> int:
    """Return the place where the page before ended, or raise Invalid."""
    try:
        value: Any = signing.loads(cursor, salt=f"{SALT}:{of}")
        return int(value[0])
    except (signing.BadSignature, ValueError, TypeError, IndexError):
        raise Invalid(
            FieldError("/cursor", "Not a cursor of this list; take `next_cursor` of the page before.")
        ) from None
