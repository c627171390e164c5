"""RFC 6901 JSON pointers: where in an example or an answer a value lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MISSING = object()


def is_pointer(text: str) -> bool:
    """Return whether a text is a JSON pointer: empty for the whole, else starting with a slash."""
    return text == "" or text.startswith("/")


def is_place_in(values: Sequence[object], text: str) -> bool:
    """Return whether digits are a place in a list; Python refuses to read thousands of them."""
    return text.isdecimal() and len(text) < 10 and int(text) < len(values)


def resolve_pointer(document: object, pointer: str) -> object:
    """Return the value that a pointer names, or MISSING."""
    value = document
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and is_place_in(value, key):
            value = value[int(key)]
        else:
            return MISSING
    return value
