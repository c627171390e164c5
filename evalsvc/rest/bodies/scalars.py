"""Values that arrive as JSON or text: ids, numbers and times, or None where they are none."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive, make_aware

from evalsvc.rest.problems import FieldError, Invalid


def is_bigint(text: str) -> bool:
    """Return whether the text is the id of a row."""
    return text.isascii() and text.isdigit() and len(text) <= 19 and int(text) < 2**63


def read_row_id(value: object) -> int | None:
    """Return the id of a row, which may come as a number or as digits."""
    is_one = isinstance(value, str | int) and not isinstance(value, bool) and is_bigint(str(value))
    return int(str(value)) if is_one else None


def read_integer(value: object) -> int | None:
    """Return an integer that fits a bigint column; from text, only digits without a sign are accepted."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -(2**63) <= value < 2**63 else None
    return read_row_id(value)


def read_uuid(value: object) -> uuid.UUID | None:
    """Return the UUID that a text is."""
    try:
        return uuid.UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


def read_time(value: object) -> datetime | None:
    """Return a time of ISO 8601, in UTC where it names no offset."""
    try:
        moment = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return make_aware(moment) if moment is not None and is_naive(moment) else moment


def refuse_nul(text: str | None, pointer: str) -> None:
    """Raise Invalid for a text with a NUL character: PostgreSQL cannot store it."""
    if text and "\0" in text:
        raise Invalid(FieldError(pointer, "It contains a NUL character, which is not allowed."))
