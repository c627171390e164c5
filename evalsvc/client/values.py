"""Conversion of Python values to JSON and back.

Values that JSON cannot represent are encoded as `{"$type": …, "value": …}`. Nothing is ever unpickled, so files from
untrusted sources are safe to open.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, TypeAlias

from evalsvc.client.shapes import OPAQUE, describe_opaque, describe_shape

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]
TYPE = "$type"
# Fields of a document that no evaluator reads, and that can be larger than the rest of it.
VECTORS = ("embedding", "sparse_embedding", "blob")


def to_json(value: object) -> JsonValue:
    """Convert a value to JSON types: tuples and sets become lists, unknown objects their `str()`.

    Objects of known frameworks are converted as `evalsvc.client.shapes` says; those that describe themselves
    (dataclasses, `to_dict()`, `model_dump()`), from that description. An object without a text becomes
    `{"$type": "opaque", …}`.
    """
    match value:
        case Enum():
            return to_json(value.value)
        case None | bool() | str():
            return value if value is None or isinstance(value, bool) else str(value)
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else _tag("float", str(value))
        case bytes() | bytearray() | memoryview():
            return _tag("bytes", base64.b64encode(bytes(value)).decode("ascii"))
        case Decimal():
            return _tag("decimal", str(value))
        case datetime():
            return _tag("datetime", value.isoformat())
        case date():
            return _tag("date", value.isoformat())
        case time():
            return _tag("time", value.isoformat())
        case Mapping():
            plain = {str(key): to_json(part) for key, part in value.items()}
            # A dictionary of the caller's own must not be read back as one of ours.
            return _tag("object", plain) if TYPE in plain else plain
        case list() | tuple() | set() | frozenset():
            return [to_json(part) for part in value]
    return _describe(value)


def to_json_object(value: Mapping[str, object]) -> JsonObject:
    """Return an object of JSON: as `to_json`, where the keys are names of the service's."""
    return {str(name): to_json(part) for name, part in value.items()}


def to_wire(value: object) -> JsonValue:
    """Return what the service reads of a value: as `to_json`, without the vectors and bytes of Haystack's documents."""
    return _strip_vectors(to_json(value))


def _strip_vectors(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_strip_vectors(part) for part in value]
    if not isinstance(value, dict):
        return value
    skipped_keys = VECTORS if {"id", "content"} <= value.keys() else ()
    return {key: _strip_vectors(part) for key, part in value.items() if key not in skipped_keys}


def from_json(value: object) -> object:
    """Convert the output of `to_json` back to the original value, where its type was preserved."""
    if isinstance(value, list):
        return [from_json(part) for part in value]
    if not isinstance(value, dict):
        return value
    read = _READERS.get(str(value.get(TYPE)))
    if read is not None and set(value) == {TYPE, "value"}:
        return read(value["value"])
    return {key: from_json(part) for key, part in value.items()}


def _tag(name: str, value: JsonValue) -> JsonObject:
    return {TYPE: name, "value": value}


def _describe(value: object) -> JsonValue:
    if (shape := describe_shape(value)) is not value:
        return to_json(shape)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_json({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    for method in ("model_dump", "to_dict"):
        describe = getattr(value, method, None)
        if callable(describe) and not isinstance(value, type):
            try:
                described = describe()
            except (TypeError, ValueError, AttributeError, NotImplementedError):
                break
            return to_json(described) if isinstance(described, Mapping) else _to_text(value)
    return _to_text(value)


def _to_text(value: object) -> JsonValue:
    opaque = describe_opaque(value)
    return str(value) if opaque is None else _tag(OPAQUE, opaque)


_READERS: dict[str, Callable[[Any], object]] = {
    "float": float,
    "bytes": base64.b64decode,
    "decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "object": lambda plain: {key: from_json(part) for key, part in plain.items()},
}


def to_evaluator_text(value: object) -> str | None:
    """Return a value as an evaluator reads it: a text as it is, the only text of an object, else JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping) and len(value) == 1:
        return to_evaluator_text(next(iter(value.values())))
    return json.dumps(to_json(value), ensure_ascii=False)


def to_iso(moment: str | datetime) -> str:
    """Return a time as bodies have it; a text stays as it is."""
    return moment.isoformat() if isinstance(moment, datetime) else moment
