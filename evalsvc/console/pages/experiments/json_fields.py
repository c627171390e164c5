"""Fields of forms that hold JSON."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from evalsvc.rest.problems import FieldError, Invalid


def shown_json(document: Any) -> str:
    """Return a document as people edit it."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def read_json_field(text: str, pointer: str) -> Any:
    """Read a field; raises Invalid at the pointer, with the place in the text."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError) as exc:
        raise Invalid(FieldError(pointer, f"Not valid JSON: {exc}.")) from None


def read_json_object(text: str, pointer: str) -> dict[str, Any]:
    """Read a field that holds an object; one that is empty holds an empty one."""
    found = read_json_field(text, pointer) if text.strip() else {}
    if not isinstance(found, dict):
        raise Invalid(FieldError(pointer, "Write a JSON object."))
    return found
