"""Where in a body a decoder's complaint is about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from evalsvc.rest.problems import FieldError, escape

# What msgspec writes for "some key of this mapping".
SOME_KEY = "..."
_step = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_came = re.compile(r"got `(\w+)`")
_types: dict[type, str] = {
    str: "str",
    bool: "bool",
    int: "int",
    float: "float",
    list: "array",
    dict: "object",
    type(None): "null",
}


def locate_error(message: str, body: bytes | None = None) -> FieldError:
    """Turn msgspec's "Expected `str`, got `int` - at `$.evaluators[0].evaluator`" into a pointer and a sentence.

    msgspec does not report which key of a mapping it means: that is the first one in the `body` with a value of the
    reported type. Without a body, or such a key, the pointer ends at the mapping.
    """
    detail, _, path = message.partition(" - at `")
    steps = [name or index for name, index in _step.findall(path.rstrip("`"))]
    type_match = _came.search(detail)
    location = _place(_document(body), steps, type_match[1]) if type_match and body and SOME_KEY in steps else None
    if location is None:
        location = steps[: steps.index(SOME_KEY)] if SOME_KEY in steps else steps
    return FieldError("".join(f"/{escape(step)}" for step in location), f"{detail}.")


def _document(body: bytes) -> Any:
    """Return the whole body; None where it is broken behind the place that was complained about."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _place(value: Any, steps: Sequence[str], came: str) -> list[str] | None:
    """Return the steps to the first value of a type, in the order of the document; None where there is none."""
    if not steps:
        return [] if _types.get(type(value)) == came else None
    step, remaining = steps[0], steps[1:]
    if isinstance(value, Mapping):
        keys = value if step == SOME_KEY else [step] if step in value else []
    else:
        keys = [step] if isinstance(value, list) and step.isdecimal() and int(step) < len(value) else []
    for key in keys:
        tail = _place(value[key] if isinstance(value, Mapping) else value[int(key)], remaining, came)
        if tail is not None:
            return [key, *tail]
    return None
