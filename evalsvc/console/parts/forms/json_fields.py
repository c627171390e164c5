"""Form fields that contain JSON, parsed by the rules of the API."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from evalsvc.rest.bodies.parsers import decode
from evalsvc.rest.problems import FieldError, Invalid, Problem

_decoder = msgspec.json.Decoder()


class UnreadableJson(ValueError):
    """A text is not valid JSON; the message names the position."""


def format_json(document: Any) -> str:
    """Return a document as people edit it."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def read_json(text: str) -> Any:
    """Read JSON by the rules of the API: no NUL, no NaN, no bottomless nesting. Raises UnreadableJson."""
    try:
        return decode(text.encode("utf-8", "surrogatepass"), _decoder)
    except Problem as problem:
        # It is a field here, and no body.
        raise UnreadableJson(problem.detail.replace("The body", "This", 1)) from None


def read_json_field(text: str, pointer: str) -> Any:
    """Read a field; raises Invalid at the pointer, with the place in the text."""
    try:
        return read_json(text)
    except UnreadableJson as exc:
        raise Invalid(FieldError(pointer, str(exc))) from None


def read_json_object(text: str, pointer: str) -> dict[str, Any]:
    """Read a field that contains a JSON object; an empty field is an empty object."""
    document = read_json_field(text, pointer) if text.strip() else {}
    if not isinstance(document, dict):
        raise Invalid(FieldError(pointer, "Enter a JSON object."))
    return document
