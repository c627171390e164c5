"""A form from a family's JSON Schema: each setting as the field that fits it, with its limits, value and error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Schema = Mapping[str, Any]
Kind = Literal["text", "long", "number", "choice", "choices", "list", "group", "json"]
PREFIX = "s"
LONG = 200
"""A text that may have more characters gets several lines."""
BLANK_ITEMS = 1
TECHNICAL = frozenset(
    {
        *("connection", "model", "temperature", "timeout_seconds", "max_output_tokens", "no_cache", "n_samples"),
        *("on_injection", "on_unverified", "score_from", "score_map", "blank_output", "sampling_params"),
    }
)
"""Settings that most profiles leave alone: they are folded away unless they are set."""
UNSET = ""


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting of the form; `name` is that of its control, which is its pointer within the settings."""

    name: str
    title: str
    kind: Kind
    help: str = ""
    value: str = ""
    options: Sequence[tuple[str, str, bool]] = ()
    """(value, words, whether chosen) of a choice, or of several."""
    low: Any = None
    high: Any = None
    step: str = "any"
    is_required: bool = False
    error: str = ""
    parts: Sequence[SettingField] = ()
    """The fields of a group, or the items of a list."""
    is_folded: bool = False
    is_removable: bool = False


@dataclass(frozen=True, slots=True)
class SettingsForm:
    """The fields of a family's settings: those that matter to most, and the rest, which is folded away."""

    fields: Sequence[SettingField]
    technical: Sequence[SettingField]
    loose: Sequence[str] = field(default=())
    """Errors that belong to no field."""

    @property
    def opens_technical(self) -> bool:
        """Whether something is set, or wrong, in the folded part."""
        return any(not field.is_folded for field in self.technical)


def settings_form(
    schema: Schema, settings: Mapping[str, Any], errors: Mapping[str, str] | None = None, *, adds: str = ""
) -> SettingsForm:
    """Return the form of a schema with these settings; `errors` are by pointer, and `adds` a list that gets an item."""
    builder = _Builder(dict(errors or {}), adds)
    fields = builder.build_fields(schema, settings, "")
    loose = [f"{pointer}: {message}" if pointer else message for pointer, message in builder.errors.items()]
    return SettingsForm(
        [field for field in fields if not _is_technical(field)],
        [field for field in fields if _is_technical(field)],
        loose,
    )


def _is_technical(one: SettingField) -> bool:
    return one.name.removeprefix(f"{PREFIX}/") in TECHNICAL and not one.is_required


class _Builder:
    """Makes fields; each error is taken out of `errors` by the field that shows it."""

    def __init__(self, errors: dict[str, str], adds: str) -> None:
        self.errors, self.adds = errors, adds

    def build_fields(self, schema: Schema, value: object, pointer: str) -> list[SettingField]:
        """Return the fields of an object."""
        values: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
        required = schema.get("required") or ()
        properties = schema.get("properties") or {}
        return [
            self.build_field(inner, name, values.get(name), f"{pointer}/{name}", is_required=name in required)
            for name, inner in properties.items()
        ]

    def build_field(
        self, schema: Schema, title: str, value: object, pointer: str, *, is_required: bool
    ) -> SettingField:
        """Return the field of one setting."""
        kind = get_control(schema)
        error = self.errors.pop(pointer, "")
        common: dict[str, Any] = {
            "name": f"{PREFIX}{pointer}",
            "title": title.replace("_", " "),
            "help": str(schema.get("description", "")),
            "is_required": is_required,
            "is_folded": value is None and not error,
            "error": error,
        }
        match kind:
            case "group":
                return SettingField(kind=kind, parts=self.build_fields(schema, value, pointer), **common)
            case "list":
                return SettingField(kind=kind, parts=self._items(schema, value, pointer), **common)
            case "choice":
                return SettingField(kind=kind, options=_choices(schema, value), **common)
            case "choices":
                return SettingField(kind=kind, options=_several(schema, value), **common)
        limits: dict[str, Any] = (
            {"low": schema.get("minimum"), "high": schema.get("maximum")} if kind == "number" else {}
        )
        step = "1" if schema.get("type") == "integer" else "any"
        if kind == "number" and "default" in schema:
            common["help"] = f"{common['help']} Default: {schema['default']}.".strip()
        return SettingField(kind=kind, value=_text(value, kind), step=step, **limits, **common)

    def _items(self, schema: Schema, value: object, pointer: str) -> list[SettingField]:
        items = list(value) if isinstance(value, list) else []
        blank = BLANK_ITEMS if not items or self.adds == f"{PREFIX}{pointer}" else 0
        inner: Schema = schema["items"]
        return [
            SettingField(
                name=f"{PREFIX}{pointer}/{i}",
                title=str(i + 1),
                kind="group",
                parts=self.build_fields(inner, item, f"{pointer}/{i}"),
                error=self.errors.pop(f"{pointer}/{i}", ""),
                is_removable=i < len(items),
            )
            for i, item in enumerate([*items, *({} for _ in range(blank))])
        ]


def get_control(schema: Schema) -> Kind:
    """Return which control a schema gets; what no control fits is written as JSON."""
    kind, items = schema.get("type"), schema.get("items")
    if "enum" in schema or kind == "boolean":
        return "choice"
    if kind in ("number", "integer"):
        return "number"
    if kind == "string":
        return "long" if schema.get("maxLength", 0) > LONG else "text"
    if kind == "array" and isinstance(items, Mapping):
        if "enum" in items:
            return "choices"
        return "list" if items.get("properties") else "json"
    return "group" if kind == "object" and schema.get("properties") else "json"


def _choices(schema: Schema, value: object) -> list[tuple[str, str, bool]]:
    values = [True, False] if schema.get("type") == "boolean" else list(schema["enum"])
    default = f"not set (then {_word(schema['default'])})" if "default" in schema else "not set"
    rows = [(json.dumps(option), _word(option), option == value and type(option) is type(value)) for option in values]
    if value is not None and not any(is_selected for *_, is_selected in rows):
        # A stored value remains visible even if it is not allowed any more.
        rows.append((json.dumps(value), _word(value), True))
    return [(UNSET, default, value is None), *rows]


def _several(schema: Schema, value: object) -> list[tuple[str, str, bool]]:
    selected = value if isinstance(value, list) else []
    return [(json.dumps(option), _word(option), option in selected) for option in schema["items"]["enum"]]


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).replace("evaluated_model_", "").replace("_", " ") if isinstance(value, str) else str(value)


def _text(value: object, kind: Kind) -> str:
    if value is None:
        return ""
    if kind == "json":
        return (
            value if isinstance(value, str) and not _is_json(value) else json.dumps(value, indent=2, ensure_ascii=False)
        )
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
