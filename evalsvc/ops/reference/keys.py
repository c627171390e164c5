"""The keys of a body or an answer as rows of a table: type, meaning, and nested keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

from evalsvc.ops.reference.document import openapi

DEEPEST = 4
"""So deep a body is written out; what lies deeper is named only."""
READER = MarkdownIt("commonmark", {"html": False})
_names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
_formats = {"date-time": "time", "uuid": "UUID", "binary": "file", "byte": "bytes", "uri": "address"}


@dataclass(frozen=True, slots=True)
class Key:
    """One key; `keys` are those of its object, or of each object in its list."""

    name: str
    kind: str
    is_required: bool
    text: SafeString
    keys: tuple[Key, ...]


def shape_keys(schema: dict[str, Any], within: tuple[str, ...] = ()) -> tuple[Key, ...]:
    """Return the keys of the object that a schema describes, directly, in a list or in a choice."""
    if len(within) > DEEPEST:
        return ()
    for name, part in _objects(schema):
        if name not in within and "properties" in part:
            required = part.get("required", ())
            inside = (*within, name)
            keys = (_key(key, subschema, key in required, inside) for key, subschema in part["properties"].items())
            return tuple(sorted(keys, key=lambda key: not key.is_required))
    return ()


def _key(name: str, schema: dict[str, Any], is_required: bool, within: tuple[str, ...]) -> Key:
    text = schema.get("description") or resolve_schema(schema)[1].get("description", "")
    return Key(name, kind_in_words(schema), is_required, inline_html(text), shape_keys(schema, within))


def inline_html(markdown: str) -> SafeString:
    """Return a line of ours as HTML; HTML in it would be text."""
    return mark_safe(READER.renderInline(markdown))  # noqa: S308  # nosec B308, B703


def _objects(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects that a value can be or contain, by name; an unnamed one is identified by its `id`."""
    name, part = resolve_schema(schema)
    if "properties" in part:
        yield name or str(id(part)), part
    for inner in (*part.get("anyOf", ()), *part.get("oneOf", ()), *part.get("allOf", ())):
        yield from _objects(inner)
    for inner in (part.get("items"), part.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from _objects(inner)


def resolve_schema(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of what a schema refers to, and that; or no name, and the schema itself."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return (name, openapi()["components"]["schemas"][name]) if name else ("", schema)


def kind_in_words(schema: dict[str, Any]) -> str:
    """Return in a few words what a value is."""
    name, part = resolve_schema(schema)
    if choice := part.get("enum"):
        return "one of " + ", ".join("null" if value is None else str(value) for value in choice)
    if "const" in part:
        return str(part["const"])
    if choices := part.get("anyOf") or part.get("oneOf"):
        return " or ".join(dict.fromkeys(kind_in_words(option) for option in choices))
    return name or _plain(part)


def _plain(part: dict[str, Any]) -> str:
    kinds = part.get("type", "any JSON")
    if isinstance(kinds, list):
        return " or ".join(dict.fromkeys(_plain(part | {"type": kind}) for kind in kinds))
    if kinds == "array":
        return f"list of {kind_in_words(part.get('items', {}))}"
    if kinds == "object":
        inner = part.get("additionalProperties")
        return f"object of {kind_in_words(inner)}" if isinstance(inner, dict) and inner else "object"
    if kinds == "string":
        return _formats.get(part.get("format", ""), "text")
    return _names.get(kinds, kinds)
