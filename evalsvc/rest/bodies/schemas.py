"""Body schemas for the OpenAPI document."""

from __future__ import annotations

from typing import Any

import msgspec


def body_schema(kind: type[msgspec.Struct]) -> dict[str, object]:
    """Return the JSON Schema of a body, its parts written out."""
    _, parts = msgspec.json.schema_components([kind])
    return {"application/json": _inline_refs(parts[kind.__name__], parts)}


def _inline_refs(schema: Any, parts: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inline_refs(item, parts) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inline_refs(parts[schema["$ref"].rpartition("/")[2]], parts)
    return {name: _inline_refs(value, parts) for name, value in schema.items()}
