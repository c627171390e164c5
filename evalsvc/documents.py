"""JSON documents: walk through them, and find what the database cannot store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalsvc.problems import FieldError, escape

MAX_DEPTH = 64
# PostgreSQL's bigint below, and what can be written as JSON again above.
SMALLEST, LARGEST = -(2**63), 2**64 - 1
_to_zeros = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 19


def might_be_unstorable(body: bytes) -> bool:
    """Return whether a document is worth the walk of `find_unstorable`; nearly none is."""
    if b"\\u0000" in body or body.count(b"[") + body.count(b"{") > MAX_DEPTH:
        return True
    return _LONG_NUMBER in body.translate(_to_zeros)  # a tenth of the time of a regular expression


def find_unstorable(document: object) -> Iterator[FieldError]:
    """Find NUL characters (PostgreSQL cannot store them), integers beyond 64 bits and nesting beyond MAX_DEPTH."""
    for pointer, value, depth in walk(document):
        if depth > MAX_DEPTH:
            yield FieldError(pointer, f"Nested deeper than {MAX_DEPTH} levels.")
            return
        if isinstance(value, str) and "\0" in value:
            yield FieldError(pointer, "Holds a NUL character, which cannot be stored.")
        elif isinstance(value, int) and not SMALLEST <= value <= LARGEST:
            yield FieldError(pointer, "An integer has at most 64 bits.")


def walk(value: object, pointer: str = "", depth: int = 0) -> Iterator[tuple[str, Any, int]]:
    """Yield every value and every key of a document with its JSON pointer and depth, without recursion."""
    stack = [(value, pointer, depth)]
    while stack:
        value, pointer, depth = stack.pop()
        yield pointer, value, depth
        if depth > MAX_DEPTH:
            continue
        if isinstance(value, dict):
            for key, part in value.items():
                yield f"{pointer}/{escape(key)}", key, depth
                stack.append((part, f"{pointer}/{escape(key)}", depth + 1))
        elif isinstance(value, list):
            stack.extend((part, f"{pointer}/{i}", depth + 1) for i, part in enumerate(value))
