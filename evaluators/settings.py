"""Check a profile's settings against the few words of JSON Schema that families use.

A family states its settings once, as the schema the API shows; this reads the same schema, so the two cannot differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evaluators.values import JSONValue, Settings

Schema = Mapping[str, JSONValue]

KEYWORDS = frozenset(
    {
        *("type", "enum", "minimum", "maximum", "minLength", "maxLength"),
        *("items", "minItems", "maxItems", "uniqueItems"),
        *("properties", "required", "additionalProperties"),
        *("title", "description", "default"),
    }
)
"""What a family's schema may say; a test holds every family to it, as other words would go unchecked."""

THRESHOLD: dict[str, JSONValue] = {
    "type": "number",
    "minimum": 0,
    "maximum": 1,
    "description": "The lowest score that passes.",
}

REPORT, PASS, FAIL = "report", "pass", "fail"
UNDECIDED: dict[str, JSONValue] = {
    "type": "string",
    "enum": [REPORT, PASS, FAIL],
    "default": REPORT,
    "description": "What `pass` is where the evaluator cannot decide. `report`: null, and `verdict` is `undecided`; "
    "`pass` or `fail`: true or false. `why` and the score are there in each case.",
}
"""The setting `undecided` of a family whose scores can be undecided (`Score.undecided`)."""

LAST, TURN, CONVERSATION = UNITS = ("last", "turn", "conversation")
"""What of a conversation an evaluator of single answers judges: the last answer, each turn's, or all of them as one."""
_UNIT_TEXTS = {
    LAST: "the last answer",
    TURN: "the answer of each turn, of which the score is the mean",
    CONVERSATION: "all that the assistant says, as one text",
}


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """What is wrong with a profile's settings: a JSON pointer into them and a sentence."""

    pointer: str
    detail: str


def object_schema(properties: Mapping[str, JSONValue], *, required: Sequence[str] = ()) -> dict[str, JSONValue]:
    """Describe settings with these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def unit_setting(*units: str) -> dict[str, JSONValue]:
    """Describe the setting `unit` of a family that can judge these units of a conversation, besides the last answer."""
    allowed = (LAST, *units)
    texts = "; ".join(f"`{unit}`: {_UNIT_TEXTS[unit]}" for unit in allowed)
    return {
        "type": "string",
        "enum": [*allowed],
        "default": LAST,
        "description": f"What of a conversation is judged. {texts}.",
    }


def get_unit(settings: Settings) -> str:
    """Return what of a conversation is judged. Checks of the family `custom` have units of another kind: `last`."""
    unit = settings.get("unit")
    return unit if unit in (TURN, CONVERSATION) else LAST


def decide_undecided(settings: Settings) -> bool | None:
    """Return what an undecided score counts as: None unless the profile says `pass` or `fail`."""
    return {PASS: True, FAIL: False}.get(str(settings.get("undecided")))


def settings_problems(settings: Settings, schema: Schema) -> list[SettingsProblem]:
    """List what the schema forbids, each with a JSON pointer to it; empty when all is well."""
    return list(_check(settings, schema, ""))


def is_finite(number: float) -> bool:
    """Return whether a value is a number that fits in a float: JSON integers can have any length."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def number_setting(settings: Settings, name: str) -> float | None:
    """Read a number that `settings_problems` has let through; None when the profile does not set it."""
    value = settings.get(name)
    return float(value) if isinstance(value, (int, float)) else None


def _check(value: object, schema: Schema, pointer: str) -> Iterator[SettingsProblem]:
    kind = schema.get("type")
    if isinstance(kind, str) and not _is_of_type(value, kind):
        yield SettingsProblem(pointer, f"must be {_ARTICLES[kind]}")
        return
    yield from _check_enum(value, schema, pointer)
    if isinstance(value, Mapping):
        yield from _check_object(value, schema, pointer)
    elif isinstance(value, list):
        yield from _check_array(value, schema, pointer)
    elif isinstance(value, str):
        yield from _check_limits(len(value), schema, pointer, "minLength", "maxLength", " characters")
    elif isinstance(value, (int, float)):
        yield from _check_limits(value, schema, pointer, "minimum", "maximum", "")


_ARTICLES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "number": "a finite number",
    "integer": "a whole number",
    "boolean": "true or false",
}


def _is_of_type(value: object, kind: str) -> bool:
    # bool is an int in Python, but true is not a number in JSON.
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "number":
        return isinstance(value, (int, float)) and is_finite(value)
    types = {"object": Mapping, "array": list, "string": str, "integer": int}
    return kind in types and isinstance(value, types[kind])


def _check_enum(value: object, schema: Schema, pointer: str) -> Iterator[SettingsProblem]:
    allowed = schema.get("enum")
    if isinstance(allowed, list) and value not in allowed:
        yield SettingsProblem(pointer, f"must be one of {', '.join(map(str, allowed))}")


def _check_object(value: Mapping[str, object], schema: Schema, pointer: str) -> Iterator[SettingsProblem]:
    properties = schema.get("properties")
    members = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    for name in required if isinstance(required, list) else []:
        if name not in value:
            yield SettingsProblem(f"{pointer}/{name}", "is required")
    for name, inner in value.items():
        where = f"{pointer}/{_escape(name)}"
        inner_schema = members.get(name)
        if isinstance(inner_schema, dict):
            yield from _check(inner, inner_schema, where)
        elif schema.get("additionalProperties") is False:
            yield SettingsProblem(where, f"is not a setting; known are: {', '.join(members) or 'none'}")


def _check_array(value: list[object], schema: Schema, pointer: str) -> Iterator[SettingsProblem]:
    yield from _check_limits(len(value), schema, pointer, "minItems", "maxItems", " items")
    items = schema.get("items")
    if isinstance(items, dict):
        for index, item in enumerate(value):
            yield from _check(item, items, f"{pointer}/{index}")
    if schema.get("uniqueItems") is True and any(item in value[:index] for index, item in enumerate(value)):
        yield SettingsProblem(pointer, "must not repeat an item")


def _check_limits(
    size: float, schema: Schema, pointer: str, low: str, high: str, unit: str
) -> Iterator[SettingsProblem]:
    lowest, highest = schema.get(low), schema.get(high)
    if isinstance(lowest, (int, float)) and size < lowest:
        yield SettingsProblem(pointer, f"must be at least {lowest}{unit}")
    if isinstance(highest, (int, float)) and size > highest:
        yield SettingsProblem(pointer, f"must be at most {highest}{unit}")


def _escape(name: object) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")
