"""Parse a submitted settings form. Values that cannot be parsed remain strings, and the family reports them."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict

from evalsvc.console.pages.profiles.schema_form import PREFIX, Schema, get_control
from evalsvc.console.parts.forms.json_fields import UnreadableJson, read_json

MAX_ITEMS = 500


def read_settings_form(schema: Schema, sent: QueryDict) -> dict[str, Any]:
    """Read the settings from a submitted form, without empty fields and without empty list items."""
    return _properties(schema, sent, "")


def _properties(schema: Schema, sent: QueryDict, pointer: str) -> dict[str, Any]:
    read = {name: _value(inner, sent, f"{pointer}/{name}") for name, inner in (schema.get("properties") or {}).items()}
    return {name: value for name, value in read.items() if value is not None}


def _value(schema: Schema, sent: QueryDict, pointer: str) -> Any:
    kind, name = get_control(schema), f"{PREFIX}{pointer}"
    if kind == "group":
        return _properties(schema, sent, pointer) or None
    if kind == "list":
        return _items(schema["items"], sent, pointer) or None
    if kind == "choices":
        return [_json_or_text(text) for text in sent.getlist(name)[:MAX_ITEMS]] or None
    text = _plain(sent.get(name, ""))
    if kind in ("text", "long"):
        return text if text.strip() else None
    text = text.strip()
    return _json_or_text(text) if text else None


def _items(schema: Schema, sent: QueryDict, pointer: str) -> list[Any]:
    removed = sent.get("remove", "")
    descriptions = (
        _properties(schema, sent, f"{pointer}/{i}")
        for i in _indexes(sent, f"{PREFIX}{pointer}/")
        if f"{PREFIX}{pointer}/{i}" != removed
    )
    return [description for description in descriptions if description]


def _indexes(sent: QueryDict, start: str) -> list[int]:
    heads = {name.removeprefix(start).partition("/")[0] for name in sent if name.startswith(start)}
    return sorted(int(head) for head in heads if head.isdecimal() and len(head) < 4)[:MAX_ITEMS]


def _plain(text: str) -> str:
    # Forms send lines as CR LF, whatever was typed.
    return text.replace("\r\n", "\n")


def _json_or_text(text: str) -> Any:
    try:
        return read_json(text)
    except UnreadableJson:
        return text
