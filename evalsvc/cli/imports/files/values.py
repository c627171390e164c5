"""Parse the values of a record. Errors use the field names of the file."""

from __future__ import annotations

import ast
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath

from evalsvc.cli.report import shorten

Values = Mapping[str, object]
MOST_LITERAL_CHARS = 1_000_000
MILLISECONDS_FROM = 1e11
"""A time that is a number is of seconds below this, of milliseconds above: seconds would be after the year 5000."""


class InvalidRecord(Exception):
    """A record cannot be used; carries the field and the reason."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, reason)
        self.field, self.reason = field, reason


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record begins: in which file, in which line of it."""

    file: str
    line: int

    def __str__(self) -> str:
        """Return it as people read it."""
        return f"{self.file}, line {self.line}"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a record or, where nothing after it can be read, with its file."""

    place: Place
    field: str
    reason: str
    is_fatal: bool = False

    def __str__(self) -> str:
        """Return the sentence."""
        return f"{self.place}{f', field {self.field}' if self.field else ''}: {self.reason}"

    def as_json(self) -> dict[str, object]:
        """Return it for programs."""
        return {"file": self.place.file, "line": self.place.line, "field": self.field, "reason": shorten(self.reason)}


def name_of_file(place: Place) -> str:
    """Return the name of a file without its endings, for what the file itself does not name."""
    return PurePath(place.file).name.split(".")[0] or place.file


def pick(values: Values, *names: str) -> tuple[str, object]:
    """Return the first of a field's names that has a value, and the value. An empty text is none, as in CSV."""
    for name in names:
        value = values.get(name)
        if value is not None and value != "":
            return name, value
    return next((name for name in names if name in values), names[0]), None


def field_text(values: Values, *names: str) -> str | None:
    """Return a text; what is none is written as JSON."""
    return as_text(pick(values, *names)[1])


def as_text(value: object) -> str | None:
    """Return a value as text: JSON where it is none, nothing where it is empty."""
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_name(values: Values, *names: str) -> str:
    """Return an id or a name, which must be there."""
    name, value = pick(values, *names)
    if value is None:
        raise InvalidRecord(name, "It is missing, or empty.")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidRecord(name, "A text is expected.")
    return str(value)


def read_number(values: Values, *names: str) -> float | None:
    """Return a number, also from text as in CSV; NaN counts as missing."""
    name, value = pick(values, *names)
    if value is None:
        return None
    try:
        number = float(value) if isinstance(value, str | int | float) else math.inf
    except (ValueError, OverflowError):
        number = math.inf
    if math.isinf(number):
        raise InvalidRecord(name, f"A number is expected, and {quoted(value)} is found.")
    return None if math.isnan(number) else number


def read_flag(values: Values, *names: str) -> bool | None:
    """Return true or false, as a word, as 1 or 0, or as themselves."""
    name, value = pick(values, *names)
    if value is None:
        return None
    words = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
    flag = words.get(str(value).lower())
    if flag is None:
        raise InvalidRecord(name, f"True or false is expected, and {quoted(value)} is found.")
    return flag


def read_moment(values: Values, *names: str) -> str | None:
    """Return a time as ISO 8601 in UTC, which is assumed if the time has no offset."""
    name, value = pick(values, *names)
    if value is None:
        return None
    try:
        time = _moment(value)
    except (ValueError, OverflowError, OSError):
        raise InvalidRecord(name, f"A time is expected, and {quoted(value)} is found.") from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _moment(value: object) -> datetime:
    if isinstance(value, str):
        return datetime.fromisoformat(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    return datetime.fromtimestamp(value / 1000 if value >= MILLISECONDS_FROM else value, UTC)


def read_object(values: Values, *names: str) -> dict[str, object]:
    """Return an object, also from JSON text as in CSV. Any other value is stored under the field's name."""
    name, value = pick(values, *names)
    if isinstance(value, str):
        value = parse_literal(value)
    if isinstance(value, dict):
        return value
    return {} if value is None else {name: value}


def parse_if_json(text: str) -> object:
    """Parse a text that contains a JSON object or list; return any other text unchanged."""
    if text[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return text


def parse_literal(text: str) -> object:
    """Parse a text that contains an object or a list as JSON or Python writes it; return any other text unchanged.

    Data frames write cells as Python does, with arrays of NumPy and `nan`, which becomes null.
    """
    value = parse_if_json(text)
    if not isinstance(value, str) or text[:1] not in ("{", "[", "a") or len(text) > MOST_LITERAL_CHARS:
        return value
    try:
        return _read_node(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def _read_node(node: ast.expr) -> object:
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
        case ast.Name(id="nan"):
            return None
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_read_node(part) for part in parts]
        case ast.Dict(keys=keys, values=values) if None not in keys:
            names = [_read_node(key) for key in keys if key is not None]
            return dict(zip(map(str, names), map(_read_node, values), strict=True))
        case ast.Call(func=ast.Name(id="array"), args=[array, *_]):
            return _read_node(array)
    raise ValueError("not a value")


def digest(values: object) -> str:
    """Return what tells values apart from others, where a source has no id for them."""
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def quoted(value: object) -> str:
    """Return a value for a sentence."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"
