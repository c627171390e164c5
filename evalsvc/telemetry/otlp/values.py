"""Convert OTLP values to values that PostgreSQL and JSON can represent.

A value that is too long is truncated and marked instead of refused, because an exporter drops the complete batch when
it is refused.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from evalsvc.telemetry.otlp.messages import (
    FLAT_PREFIXES,
    NAMES,
    TRACELOOP_PREFIXES,
    VALUE_NAMES,
    clean,
    cut,
    is_message_json,
    shorten_messages,
)

MAX_TEXT = 65_536  # characters of one text
MAX_TEXTS = 262_144  # characters of all texts of one span or log
MAX_VALUES = 10_000  # values in one span or log, nested ones included
MAX_ATTRIBUTES = 256  # of one span, log, event, link, resource or scope
MAX_KEY = 255
MAX_DEPTH = 16
MAX_MESSAGE_TEXTS = 2_097_152  # characters of the messages of one span: some senders repeat a conversation as JSON
MAX_MESSAGE_VALUES = 50_000
MAX_MESSAGE_DEPTH = 48
# PostgreSQL writes JSON numbers with all their digits. Larger and smaller numbers are therefore stored as strings, as
# are infinities and NaN.
LARGEST, SMALLEST = 1e30, 1e-30


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


class Limits(NamedTuple):
    """How much is kept: characters of one text and of all, values, and levels of nesting."""

    text: int
    texts: int
    values: int
    depth: int


ORDINARY = Limits(MAX_TEXT, MAX_TEXTS, MAX_VALUES, MAX_DEPTH)
MESSAGES = Limits(MAX_MESSAGE_TEXTS, MAX_MESSAGE_TEXTS, MAX_MESSAGE_VALUES, MAX_MESSAGE_DEPTH)


class ValueReader:
    """Reader for the values of one span or log, up to its limits. Messages have limits of their own, and stay whole."""

    def __init__(self, limits: Limits = ORDINARY) -> None:
        self._limits = limits
        self._n_values, self._n_chars = limits.values, limits.texts
        self._messages: ValueReader | None = None

    def text(self, text: str) -> str:
        """Return a text that can be stored."""
        length, limit = len(text), self._n_chars
        if length <= limit and length <= self._limits.text:
            self._n_chars -= length
            return clean(text)
        limit = min(self._limits.text, limit)
        self._n_chars -= limit
        # Never below 32 characters, so that there is room for the mark.
        return cut(text, max(limit, 32))

    def attributes(self, pairs: Iterable[Any] | None, depth: int = 0) -> dict[str, Any]:
        """Return attributes by their names. When a name is repeated, its last value counts."""
        attributes: dict[str, Any] = {}
        n_parts = 0
        for pair in pairs or ():
            key = pair.key
            # The hot path: few attributes hold messages.
            if (key in NAMES or key.startswith("llm.")) and depth == 0 and self._takes_messages(key, pair.value):
                n_parts += key not in attributes
                attributes[cut(key, MAX_KEY)] = self._read_messages(pair.value)
                continue
            if len(attributes) - n_parts >= MAX_ATTRIBUTES or self._n_values <= 0:
                attributes["…"] = "[more attributes were left out]"
                break
            attributes[cut(key, MAX_KEY)] = self.value(pair.value, depth)
        return attributes

    def _takes_messages(self, name: str, value: Any) -> bool:
        """Return whether an attribute holds messages, for which there is room.

        Of any text that is so only where the limits of other texts would cut it.
        """
        if self._messages is not None and self._messages._n_values <= 0:
            return False
        if name not in VALUE_NAMES:
            return name in NAMES or name.startswith(FLAT_PREFIXES + TRACELOOP_PREFIXES)
        if value.WhichOneof("value") != "string_value":
            return False
        text = value.string_value
        return len(text) > min(MAX_TEXT, self._n_chars) and is_message_json(text)

    def _read_messages(self, value: Any) -> Any:
        """Return messages, or a part of one, as long as they are; JSON that is too long with shorter texts in it."""
        reader = self._messages = self._messages or ValueReader(MESSAGES)
        if value.WhichOneof("value") == "string_value" and len(text := value.string_value) > reader._n_chars:
            shortened = shorten_messages(text, reader._n_chars)
            return reader.value(value) if shortened is None else reader.text(shortened)
        return reader.value(value)

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return an AnyValue as a JSON-compatible value."""
        self._n_values -= 1
        kind = value.WhichOneof("value")
        if kind is None:
            return None
        if kind in ("array_value", "kvlist_value") and depth >= self._limits.depth:
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
