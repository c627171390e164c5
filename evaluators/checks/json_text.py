"""Parsing of JSON from untrusted texts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import NoReturn

from evaluators.base import JSONValue

MAX_DEPTH = 100
MAX_DIGITS = 300


class NotJson(Exception):
    """The text is not JSON that can be used; the message is half a sentence that does not repeat the text."""


def read_json(text: str) -> JSONValue:
    """Parse a text as RFC 8259 has it, or raise NotJson.

    NaN and Infinity are not JSON. Refused too: a name twice in one object, since readers differ in which counts;
    numbers beyond a double or of more than 300 digits; and nesting deeper than 100.
    """
    try:
        value: JSONValue = json.loads(
            text, parse_constant=_constant, parse_float=_float, parse_int=_int, object_pairs_hook=_object
        )
    except json.JSONDecodeError as exc:
        raise NotJson(f"it breaks off or goes wrong at character {exc.pos}") from None
    except RecursionError:
        raise NotJson(f"it nests deeper than {MAX_DEPTH} levels") from None
    if is_deep(value, MAX_DEPTH):
        raise NotJson(f"it nests deeper than {MAX_DEPTH} levels")
    return value


def follow(value: JSONValue, path: tuple[str | int, ...]) -> JSONValue:
    """Go down a path of names and positions, or raise NotJson where it ends early."""
    for step in path:
        try:
            # A name of a list and a position in an object are not there, nor is anything within a text or a number.
            value = value[step] if isinstance(value, (dict, list)) else {}[step]  # type: ignore[index]
        except (TypeError, LookupError):
            raise NotJson(f"it has nothing at {step!r}") from None
    return value


def is_deep(value: object, n_levels: int) -> bool:
    """Return whether a value of JSON nests deeper than so many levels."""
    level = [value]
    for _ in range(n_levels):
        level = [inner for outer in level for inner in _members(outer) if isinstance(inner, (dict, list))]
        if not level:
            return False
    return True


def _members(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is not JSON")


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise NotJson("it holds a number that is too large")
    return value


def _int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise NotJson(f"it holds a number of more than {MAX_DIGITS} digits")
    return int(digits)


def _object(pairs: list[tuple[str, JSONValue]]) -> dict[str, JSONValue]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise NotJson("an object in it names the same key twice")
    return members
