"""What a reader of the OpenAPI document looks for first: a line that sums a call up, and named bodies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from evalsvc.rest.answering.examples import JSON


def name_operations(document: dict[str, Any]) -> None:
    """Give each operation a summary, and each of its JSON bodies a name under `components`."""
    schemas = document["components"]["schemas"]
    for methods in document["paths"].values():
        for operation in methods.values():
            operation["summary"] = _first_sentence(operation.get("description", ""))
            for kind, content in _json_contents(operation):
                content["schema"] = _register_schema(content["schema"], schemas, operation["operationId"] + kind)


def simplify_schemas(part: Any) -> None:
    """Change schemas that client generators misread, within a part of the document.

    Null defaults are removed, because generators treat a key with a default as required. A union of any value and null
    becomes any value, and a list without `items` becomes a list of any value.
    """
    if isinstance(part, list):
        for item in part:
            simplify_schemas(item)
    if isinstance(part, dict):
        if "default" in part and part["default"] is None:
            del part["default"]
        if part.get("oneOf") == [{}, {"type": "null"}]:
            del part["oneOf"]
        if part.get("type") == "array":
            part.setdefault("items", {})
        for name, value in part.items():
            if name not in ("example", "examples"):
                simplify_schemas(value)


def name_parts(document: dict[str, Any]) -> None:
    """Move each object schema with a title, which is nested in a component, to a component of that name."""
    schemas = document["components"]["schemas"]
    for schema in list(schemas.values()):
        for name, value in schema.items():
            schema[name] = _refer_to_titled(value, schemas)


def _refer_to_titled(part: Any, schemas: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_refer_to_titled(item, schemas) for item in part]
    if not isinstance(part, dict):
        return part
    inner = {name: _refer_to_titled(value, schemas) for name, value in part.items()}
    if inner.get("type") != "object" or not isinstance(inner.get("title"), str):
        return inner
    return _register_schema(inner, schemas, inner["title"])


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[^.])[.:](?: |$)", paragraph, maxsplit=1)[0]


def _json_contents(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the JSON bodies that are objects: of the request, and of successful responses."""
    parts = [("_body", operation.get("requestBody", {}))]
    parts += [("_answer", answer) for status, answer in operation["responses"].items() if status < "300"]
    for kind, part in parts:
        content = part.get("content", {}).get(JSON)
        if content is not None and content.get("schema", {}).get("type") == "object":
            yield kind, content


def _register_schema(schema: dict[str, Any], schemas: dict[str, Any], fallback: str) -> dict[str, str]:
    name = schema.get("title") or "".join(part.capitalize() for part in fallback.split("_"))
    if schemas.setdefault(name, schema) != schema:
        raise ValueError(f"Two bodies have the name {name!r} in the OpenAPI document.")
    return {"$ref": f"#/components/schemas/{name}"}
