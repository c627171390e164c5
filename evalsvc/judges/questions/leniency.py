"""Read a judge's answer that is complete but for its form: a wrapper, keys beyond the schema, numbers in quotes.

Only what has one meaning is read. An answer that could also mean another verdict keeps its form, and the schema refuses
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_number = re.compile(r"-?(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,20})?")
_word = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_BOOLEANS = {"true": True, "false": False}
_STATED = {"true": 1.0, "yes": 1.0, "pass": 1.0, "passed": 1.0, "false": 0.0, "no": 0.0, "fail": 0.0, "failed": 0.0}
_VERDICTS = frozenset(
    (
        *("pas", "passe", "passed", "verdict", "decision", "grade", "rating", "label", "score", "result", "final"),
        *("correct", "met", "answer", "value", "outcome", "judgement", "judgment"),
    )
)
_NEGATIONS = frozenset(("fail", "failed", "failure", "incorrect", "wrong", "not"))
_REMARKS = frozenset(
    ("confidence", "reason", "reasoning", "rationale", "explanation", "justification", "comment", "note")
)
_PROSE = frozenset(("reasoning", "quote", "id"))


def unwrap(value: Any, schema: Mapping[str, Any]) -> tuple[Any, bool]:
    """Return the object in an object whose only key is none of the schema's, and whether there is one."""
    if isinstance(value, dict) and len(value) == 1:
        ((name, inner),) = value.items()
        if isinstance(inner, dict) and name not in _properties(schema):
            return inner, True
    return value, False


def coerce(value: Any, schema: Any) -> Any:
    """Return a value in the types of its schema, without keys that the schema does not have and that decide nothing."""
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, list):
        return [coerce(item, schema.get("items")) for item in value]
    if isinstance(value, dict):
        return _coerce_object(value, schema)
    return _coerce_text(value, schema) if isinstance(value, str) else value


def _coerce_text(text: str, schema: Mapping[str, Any]) -> Any:
    kind, written = schema.get("type"), text.strip()
    if kind == "boolean":
        return _BOOLEANS.get(written.lower(), text)
    if kind in ("number", "integer") and _number.fullmatch(written):
        return float(written) if "." in written else int(written)
    return text


def _coerce_object(value: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = _properties(schema)
    read = {name: coerce(item, properties.get(name)) for name, item in value.items()}
    if schema.get("additionalProperties") is not False or not set(properties) <= set(read):
        return read
    own = {name: read[name] for name in properties}
    return own | {name: item for name, item in read.items() if name not in own and _is_rival(name, item, own)}


def _is_rival(name: str, item: Any, own: Mapping[str, Any]) -> bool:
    """Return whether a key beyond the schema could hold another verdict than `own`, the keys of the schema."""
    deciding = _VERDICTS | _NEGATIONS | {word for key in own if key not in _PROSE for word in _split_words(key)}
    if isinstance(item, dict | list):
        return any(_decides(key, deciding) for key in (name, *_iter_keys(item)))
    if not _decides(name, deciding) or (_split_words(name) & _REMARKS):
        return False
    verdicts = {number for key, part in own.items() if key not in _PROSE and (number := _state(part)) is not None}
    return bool(_split_words(name) & _NEGATIONS) or verdicts != {_state(item)}


def _decides(name: str, deciding: frozenset[str] | set[str]) -> bool:
    # A name in another script could mean anything.
    return not name.isascii() or bool(_split_words(name) & deciding)


def _iter_keys(item: Any) -> Iterator[str]:
    if isinstance(item, dict):
        yield from item
    for part in item.values() if isinstance(item, dict) else item if isinstance(item, list) else ():
        yield from _iter_keys(part)


def _split_words(name: str) -> set[str]:
    """Return the words of a key without a last s: `finalScores` has `final` and `score`."""
    return {word.lower().removesuffix("s") for word in _word.findall(name)}


def _state(item: Any) -> float | None:
    """Return the number that a value states as a verdict; None for a value that states none."""
    if isinstance(item, bool | int | float):
        return float(item)
    if not isinstance(item, str):
        return None
    written = item.strip().lower()
    return float(written) if _number.fullmatch(written) else _STATED.get(written)


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}
