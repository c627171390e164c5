"""OTLP's values as PostgreSQL and JSON can hold them.

What is too long is cut and says so: an exporter whose batch is refused drops all of it.
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
# PostgreSQL writes numbers out in full, so larger and smaller ones are kept as texts, as are infinities and NaN.
LARGEST, SMALLEST = 1e30, 1e-30


def clean(text: str) -> str:
    """Replace NUL, which PostgreSQL cannot hold."""
    return text.replace("\0", "\ufffd") if "\0" in text else text


def cut(text: str, limit: int) -> str:
    """Shorten a text to the limit, its mark included."""
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


def whole(value: int | str | None) -> int:
    """Return an unsigned 64-bit integer; 0 for anything else."""
    try:
        number = int(value or 0)
    except ValueError:
        return 0
    return number if 0 <= number < 2**64 else 0


def moment(nanoseconds: int) -> datetime:
    """Return the time so many nanoseconds after 1970; 64 bits of them end in the year 2554."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)


class ValueReader:
    """Reads the values of one item, within the item's allowance."""

    def __init__(self) -> None:
        self._n_values, self._n_chars = MAX_VALUES, MAX_TEXTS

    def text(self, text: str) -> str:
        """Return a text that can be stored."""
        limit = min(MAX_TEXT, self._n_chars)
        self._n_chars -= min(len(text), limit)
        return cut(text, max(limit, 32))

    def attributes(self, pairs: Iterable[Any] | None, depth: int = 0) -> dict[str, Any]:
        """Return attributes by their names; of a name that comes twice the last."""
        found: dict[str, Any] = {}
        for pair in pairs or ():
            if len(found) >= MAX_ATTRIBUTES or self._n_values <= 0:
                found["…"] = "[more attributes were left out]"
                break
            found[cut(pair.key, MAX_KEY)] = self.value(pair.value, depth)
        return found

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return an AnyValue."""
        self._n_values -= 1
        kind = value.WhichOneof("value")
        if kind is None:
            return None
        if kind in ("array_value", "kvlist_value") and depth >= MAX_DEPTH:
            return "[nested too deeply]"
        return getattr(self, kind, self._other)(getattr(value, kind), depth)

    def array_value(self, array: Any, depth: int) -> list[object]:
        """Return a list."""
        found: list[Any] = []
        for value in array.values or ():
            if self._n_values <= 0:
                found.append("[more values were left out]")
                break
            found.append(self.value(value, depth + 1))
        return found

    def kvlist_value(self, mapping: Any, depth: int) -> dict[str, object]:
        """Return a mapping."""
        return self.attributes(mapping.values, depth + 1)

    def string_value(self, text: str, depth: int) -> str:
        """Return a text."""
        return self.text(text)

    def bytes_value(self, raw: bytes | str, depth: int) -> str:
        """Return bytes as base64, which OTLP/JSON has already."""
        return self.text(base64.b64encode(raw).decode() if isinstance(raw, bytes) else raw)

    def int_value(self, number: int | str, depth: int) -> int | str:
        """Return an integer of 64 bits; a text where it has more or is none."""
        try:
            read = int(number)
        except ValueError:
            return self.text(str(number))
        return read if -(2**63) <= read < 2**63 else self.text(str(number))

    def double_value(self, number: float | str, depth: int) -> float | str:
        """Return a number, or a text for what JSON or a column cannot hold."""
        if isinstance(number, str):
            return self.text(number)
        if number == 0 or (math.isfinite(number) and SMALLEST < abs(number) < LARGEST):
            return number
        return str(number)

    def _other(self, value: Any, depth: int) -> Any:
        return value if isinstance(value, bool) else None
