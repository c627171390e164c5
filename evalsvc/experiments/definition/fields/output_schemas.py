"""The schema that a config declares for its outputs: checks of the schema, and of each output against it.

An output that is only the answer is validated as that answer; one by component is validated as the object of its
components, in which `output` is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from evalsvc.experiments.definition.fields.mapper import OUTPUT
from evaluators.base import CannotScore
from evaluators.checks.kinds.json_check import schema_problems as problems_of
from evaluators.checks.kinds.json_schema import Path, breaches
from evaluators.samples import described

OUTPUT_SCHEMA = "output_schema"
AT = f"/parameters/{OUTPUT_SCHEMA}"
BAD_OUTPUT = "bad_output"
MAX_SHOWN, MAX_WHERE = 100, 300
# Checking a schema, and validating an output part by part, takes time of the web server.
MAX_BYTES = 32_768
MAX_SCHEMAS = 16
MAX_STEPS = 20_000


def schema_problems(schema: object) -> list[tuple[str, str]]:
    """List what is wrong with an `output_schema`: a pointer into the config and a sentence each."""
    if not isinstance(schema, Mapping):
        return [(AT, f"`{OUTPUT_SCHEMA}` is a JSON Schema, which is an object, and not {described(schema)}.")]
    raw = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    if len(raw) > MAX_BYTES:
        return [(AT, f"The `{OUTPUT_SCHEMA}` has {len(raw)} bytes; it may have {MAX_BYTES}.")]
    return _problems(raw)


@lru_cache(maxsize=64)
def _problems(raw: bytes) -> list[tuple[str, str]]:
    # A search makes many configs that have the same schema.
    schema_errors = problems_of(orjson.loads(raw), AT, n_steps=MAX_STEPS)
    return [(error.pointer, f"The `{OUTPUT_SCHEMA}` {error.detail}.") for error in schema_errors]


def declared_schema(kind: str, parameters: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return the schema that a config's outputs must satisfy; None where it declares no usable one.

    A `push` config might have been created before its parameters had a meaning.
    """
    schema = parameters.get(OUTPUT_SCHEMA) if kind != "chat" else None
    return schema if isinstance(schema, Mapping) and not schema_problems(schema) else None


def describe_breach(schema: Mapping[str, Any], components: Mapping[str, Any]) -> str | None:
    """Return where an output breaks its schema, with the value and the rule; None when it is valid."""
    declared = schema.get("properties", {})
    # Thinking that was removed from an answer is kept beside it, and is not the config's own component.
    output_object = {name: value for name, value in components.items() if name != "thinking" or name in declared}
    if set(output_object) != {OUTPUT}:
        return _breach(schema, output_object, ())
    # `{"output": …}` is ambiguous: it can be the answer alone, or the object of its components.
    answer_breach = _breach(schema, output_object[OUTPUT], (OUTPUT,))
    by_component = _breach(schema, output_object, ()) if answer_breach else None
    return answer_breach and by_component and (by_component if OUTPUT in declared else answer_breach)


def _breach(schema: Mapping[str, Any], value: Any, start: Path) -> str | None:
    try:
        violations = breaches(dict(schema), value, most=1, n_steps=MAX_STEPS)
    except CannotScore as exc:
        return f"The output cannot be held to its `{OUTPUT_SCHEMA}`. {exc.detail}"
    if not violations:
        return None
    path, keyword, expected = violations[0]
    where = _pointer((*start, *path))[:MAX_WHERE]
    rule = f"`{keyword}` is {_to_json(expected)}" if keyword != "None" else "nothing may be"
    return f"The output breaks its `{OUTPUT_SCHEMA}`: at {where!r} it has {_describe_value(value, path)}, where {rule}."


def _pointer(path: Path) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _describe_value(value: Any, path: Path) -> str:
    for step in path:
        value = value[step]
    return f"the text {_to_json(value)}" if isinstance(value, str) else described(value)


def _to_json(value: Any) -> str:
    text = orjson.dumps(value[:MAX_SHOWN] if isinstance(value, str) else value).decode()
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
