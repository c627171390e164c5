"""JSON Schema validation of untrusted values by schemas of an account: bounded, and without network access.

Supports drafts 2020-12 and 7, by jsonschema. Patterns run on RE2 instead of Python's `re`, references are restricted to
the schema itself, and every applied keyword counts against a budget, so that references cannot multiply without limit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from fractions import Fraction
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from evaluators.base import CannotScore, JSONValue, Settings
from evaluators.checks.kinds.regexes import is_found

MAX_STEPS = 200_000
CHARS_PER_STEP = 8
"""Of a text that a pattern looks through: what one step of a keyword costs in time, at the worst."""
MAX_ERRORS = 10
DRAFT_7 = "http://json-schema.org/draft-07/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
Path = tuple[str | int, ...]
_Keyword = Callable[[Any, Any, Any, Any], Iterator[Any] | None]
_steps: ContextVar[list[int]] = ContextVar("steps")


class Breach(NamedTuple):
    """A violation of a schema: the path within the value, the violated keyword, and the message."""

    path: Path
    keyword: str
    wanted: JSONValue


def violations(schema: Settings, value: JSONValue) -> list[tuple[Path, str]]:
    """List where a value breaks a schema that has passed `schema_problems`: path and keyword, ten at most.

    Raises CannotScore("input_too_long") when telling would take too long or nest too deep. `format` is not checked.
    """
    return [(breach.path, breach.keyword) for breach in breaches(schema, value)]


def breaches(schema: Settings, value: JSONValue, *, most: int = MAX_ERRORS, n_steps: int = MAX_STEPS) -> list[Breach]:
    """List where a value breaks a schema, as `violations` does, with what is wanted; within so many steps."""
    return SchemaCheck(schema).breaches(value, most=most, n_steps=n_steps)


class SchemaCheck:
    """A schema that has passed `schema_problems`, ready to check many values."""

    def __init__(self, schema: Settings) -> None:
        self._validator = _validator(schema)

    def breaches(self, value: JSONValue, *, most: int = MAX_ERRORS, n_steps: int = MAX_STEPS) -> list[Breach]:
        """List where a value breaks the schema, as the function does."""
        token = _steps.set([n_steps])
        try:
            errors = islice(self._validator.iter_errors(value), most)
            return [Breach(tuple(error.absolute_path), str(error.validator), error.validator_value) for error in errors]
        except RecursionError:
            raise CannotScore("input_too_long", "The JSON nests too deep for this schema.") from None
        finally:
            _steps.reset(token)


def meta_errors(schema: Settings) -> list[tuple[Path, str]]:
    """List where a schema is not JSON Schema: path and what is wrong, ten at most."""
    import jsonschema

    plain = jsonschema.Draft7Validator if is_draft_7(schema) else jsonschema.Draft202012Validator
    errors = plain(plain.META_SCHEMA).iter_errors(dict(schema))
    try:
        return [(tuple(error.absolute_path), str(error.message)[:200]) for error in islice(errors, MAX_ERRORS)]
    except RecursionError:
        return [((), "it nests too deep")]


def is_draft_7(schema: Settings) -> bool:
    """Return whether a schema declares itself to be of draft 7."""
    return str(schema.get("$schema", "")).rstrip("#") == DRAFT_7


def _validator(schema: Settings) -> Any:
    from referencing import Registry

    kind = _kinds()[is_draft_7(schema)]
    # By `$schema` a part that refers to the whole would be handed to the library's own class, with its own patterns.
    bare = {name: value for name, value in schema.items() if name != "$schema"}
    # An empty registry cannot fetch anything; jsonschema's own default would access the network.
    return kind(bare, registry=Registry())


@cache
def _kinds() -> tuple[Any, Any]:
    import jsonschema
    from jsonschema.validators import extend

    kinds = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "multipleOf": _check_multiple,
        "uniqueItems": _unique_items,
    }
    plain = (jsonschema.Draft202012Validator, jsonschema.Draft7Validator)
    new, old = (
        extend(kind, {name: _count_steps(kinds.get(name, check)) for name, check in kind.VALIDATORS.items()})
        for kind in plain
    )
    return new, old


def _count_steps(check: _Keyword) -> _Keyword:
    def count_step(validator: object, value: object, instance: object, schema: object) -> Iterator[Any] | None:
        _spend(1 + (len(value) if isinstance(value, (list, dict)) else 0))
        return check(validator, value, instance, schema)

    return count_step


def _spend(n: int) -> None:
    remaining = _steps.get()
    remaining[0] -= n
    if remaining[0] < 0:
        raise CannotScore("input_too_long", "Checking the JSON against this schema takes too long.")


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield _error("does not match the pattern")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, Mapping):
        return
    for pattern, inner in patterns.items():
        for name, value in instance.items():
            if _matches(pattern, name):
                yield from validator.descend(value, inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, extra: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, Mapping):
        return
    properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    others = [
        name for name in instance if name not in properties and not any(_matches(pattern, name) for pattern in patterns)
    ]
    if extra is False and others:
        yield _error("has further properties")
    elif isinstance(extra, Mapping):
        for name in others:
            yield from validator.descend(instance[name], extra, path=name)


def _check_multiple(validator: Any, divisor: float, instance: Any, schema: Any) -> Iterator[Any]:
    # The library divides floats, and finds that 19.99 is no multiple of 0.01.
    is_number = isinstance(instance, int | float) and not isinstance(instance, bool)
    if is_number and Fraction(repr(instance)) % Fraction(repr(divisor)):
        yield _error(f"is not a multiple of {divisor}")


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    # The library compares each item with each where they cannot be sorted.
    if wanted is True and isinstance(instance, list) and len({_canonical(item) for item in instance}) < len(instance):
        yield _error("repeats an item")


def _canonical(value: JSONValue) -> str:
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: JSONValue) -> JSONValue:
    # 1 and 1.0 are one number in JSON Schema.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {name: _plain(item) for name, item in value.items()} if isinstance(value, dict) else value


def _matches(pattern: str, text: str) -> bool:
    # A keyword of many patterns is held against every name of an object.
    _spend(1 + len(text) // CHARS_PER_STEP)
    return is_found(pattern, text)


def _error(message: str) -> Any:
    from jsonschema import ValidationError

    return ValidationError(message)
