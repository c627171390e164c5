"""Convert OTLP values to values that PostgreSQL and JSON can represent.

A value that is too long is truncated and marked instead of refused, because an exporter drops the complete batch when
it is refused.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

MAX_TEXT = 65_536  # characters of one text
MAX_TEXTS = 262_144  # characters of all texts of one span or log
MAX_VALUES = 10_000  # values in one span or log, nested ones included
MAX_ATTRIBUTES = 256  # of one span, log, event, link, resource or scope
MAX_KEY = 255
MAX_DEPTH = 16
# PostgreSQL writes JSON numbers with all their digits. Larger and smaller numbers are therefore stored as strings, as
# are infinities and NaN.
LARGEST, SMALLEST = 1e30, 1e-30


def clean(text: str) -> str:
    """Replace NUL, which PostgreSQL cannot store."""
    return text.replace("\0", "\ufffd") if "\0" in text else text


def cut(text: str, limit: int) -> str:
    """Truncate a text to the limit, which includes a marker with the text's original length."""
    if len(text) <= limit:
        return clean(text)
    mark = f"… [{len(text)} characters]"
    return (clean(text[: max(0, limit - len(mark))]) + mark)[:limit]


def column_text(text: str | None, limit: int = 255) -> str | None:
    """Return a text for a column, None for an empty one."""
    return cut(text, limit) if text else None


def hex_id(value: Any, n_bytes: int) -> str | None:
    """Return a trace or span id as lower-case hexadecimal; None for one that is missing, zero or of another length."""
    try:
        raw = value if isinstance(value, bytes) else bytes.fromhex(value)
    except (TypeError, ValueError):
        return None
    return raw.hex() if len(raw) == n_bytes and any(raw) else None


def to_int(value: int | str | None) -> int:
    """Return an unsigned 64-bit integer; 0 for anything else."""
    try:
        number = int(value or 0)
    except ValueError:
        return 0
    return number if 0 <= number < 2**64 else 0


def moment(nanoseconds: int) -> datetime:
    """Return the time at so many nanoseconds after 1970. Numbers of 64 bits end in the year 2554."""
    seconds, remainder = divmod(nanoseconds, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=remainder // 1000)


class ValueReader:
    """Reader for the values of one span or log; retains at most MAX_VALUES values and MAX_TEXTS of text."""

    def __init__(self) -> None:
        self._n_values, self._n_chars = MAX_VALUES, MAX_TEXTS

    def text(self, text: str) -> str:
        """Return a text that can be stored."""
        limit = min(MAX_TEXT, self._n_chars)
        self._n_chars -= min(len(text), limit)
        # Never below 32 characters, so that there is room for the mark.
        return cut(text, max(limit, 32))

    def attributes(self, pairs: Iterable[Any] | None, depth: int = 0) -> dict[str, Any]:
        """Return attributes by their names. When a name is repeated, its last value counts."""
        attributes: dict[str, Any] = {}
        for pair in pairs or ():
            if len(attributes) >= MAX_ATTRIBUTES or self._n_values <= 0:
                attributes["…"] = "[more attributes were left out]"
                break
            attributes[cut(pair.key, MAX_KEY)] = self.value(pair.value, depth)
        return attributes

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return an AnyValue as a JSON-compatible value."""
        self._n_values -= 1
        kind = value.WhichOneof("value")
        if kind is None:
            return None
        if kind in ("array_value", "kvlist_value") and depth >= MAX_DEPTH:
            return "[nested too deeply]"
        # The methods below have the names of AnyValue's fields.
        return getattr(self, kind, self._other)(getattr(value, kind), depth)

    def array_value(self, array: Any, depth: int) -> list[object]:
        """Return an array as a list; items over the limit are omitted, and a marker in the list reports this."""
        values: list[Any] = []
        for value in array.values or ():
            if self._n_values <= 0:
                values.append("[more values were left out]")
                break
            values.append(self.value(value, depth + 1))
        return values

    def kvlist_value(self, mapping: Any, depth: int) -> dict[str, object]:
        """Return a list of keys and values as a dict."""
        return self.attributes(mapping.values, depth + 1)

    def string_value(self, text: str, depth: int) -> str:
        """Return a text that can be stored."""
        return self.text(text)

    def bytes_value(self, raw: bytes | str, depth: int) -> str:
        """Return bytes as base64. In OTLP/JSON they are base64 already."""
        return self.text(base64.b64encode(raw).decode() if isinstance(raw, bytes) else raw)

    def int_value(self, number: int | str, depth: int) -> int | str:
        """Return an integer of 64 bits; a text if it is larger, or not an integer."""
        try:
            read = int(number)
        except ValueError:
            return self.text(str(number))
        return read if -(2**63) <= read < 2**63 else self.text(str(number))

    def double_value(self, number: float | str, depth: int) -> float | str:
        """Return a number, or a string for a value that neither JSON nor a column can represent."""
        if isinstance(number, str):
            return self.text(number)
        if number == 0 or (math.isfinite(number) and SMALLEST < abs(number) < LARGEST):
            return number
        return str(number)

    def _other(self, value: Any, depth: int) -> Any:
        return value if isinstance(value, bool) else None
