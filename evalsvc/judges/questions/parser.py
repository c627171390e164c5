"""Parse a model's text into an answer that fits the question's schema. A text that does not fit is refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import json_repair
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import SPECIFICATIONS
from referencing.exceptions import Unresolvable

from evalsvc.judges.questions.contradictions import changes_meaning, contradicts
from evalsvc.judges.questions.leniency import coerce, unwrap
from evalsvc.thoughts import split_thinking

MAX_CHARS = 200_000
MAX_REPAIRED_CHARS = 20_000
_fence = re.compile(r"```[A-Za-z]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
# A closing brace that is followed by something other than a comma or another closing mark.
_goes_on = re.compile(r"\}\s*[^\s,\]}]")
_unstorable = re.compile("[\0\ud800-\udfff]")
_decoder = json.JSONDecoder(
    parse_constant=lambda name: _refuse(name), object_pairs_hook=lambda pairs: _reject_duplicate_names(pairs)
)


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer that satisfies the schema.

    `was_repaired` means that the text was not valid JSON. `written` is the part of the text with the answer, and
    `chances` the probability of each option of a weighed question.
    """

    data: Mapping[str, Any]
    was_repaired: bool = False
    written: str = ""
    chances: Mapping[str, float] | None = None


class SchemaMismatch(Exception):
    """The model's text is not a valid answer. The message gives the reason and quotes nothing from the text.

    `has_json` is False for prose with no object in it: the endpoint might not support JSON.
    """

    def __init__(self, problem: str, *, has_json: bool = True) -> None:
        super().__init__(problem)
        self.has_json = has_json


def parse(text: str, schema: Mapping[str, object]) -> ParsedAnswer:
    """Extract one JSON object from a text and validate it. Raises SchemaMismatch.

    A fence is allowed around the object, and prose that could not mean another answer (see `contradictions`). Several
    objects are rejected: one might be quoted from the text that the model was shown, and choosing one would be a guess.
    Duplicate names in an object are rejected too. Of an object that is JSON, a wrapper around the answer, keys that
    decide nothing, and numbers in quotes are read as what they mean (see `leniency`).
    """
    before, body, after = _split_body(text)
    try:
        value, end = _decoder.raw_decode(body)
    except (ValueError, RecursionError):
        repaired = _validate(_repair(body, schema), schema)
        _check_prose(before, after, repaired, schema)
        return ParsedAnswer(repaired, was_repaired=True, written=body.strip())
    if "{" in body[end:]:
        raise SchemaMismatch("There is more than one JSON object.")
    inner, was_wrapped = unwrap(value, schema)
    # What the answer says is what the wrapper holds: that is compared with the data.
    written = body[body.index("{", 1) : body.rindex("}", 0, end - 1) + 1] if was_wrapped else body[:end]
    data = _validate(coerce(inner, schema), schema)
    _check_prose(before, f"{body[end:]}\n{after}", data, schema)
    return ParsedAnswer(data, written=written)


def _check_prose(before: str, after: str, data: Mapping[str, Any], schema: Mapping[str, object]) -> None:
    if (before or after.strip()) and contradicts(before, after, data, schema):
        raise SchemaMismatch("The text around the JSON object could mean another answer.")


def _split_body(text: str) -> tuple[str, str, str]:
    """Return the prose before an object, the text from where it begins, and the prose after its fence."""
    if len(text) > MAX_CHARS:
        raise SchemaMismatch("The text is too long.")
    answer = split_thinking(text)[0].strip()
    before, after = "", ""
    fenced = list(_fence.finditer(answer)) if not answer.startswith("{") else []
    if len(fenced) == 1:
        before, after = answer[: fenced[0].start()], answer[fenced[0].end() :]
        answer = fenced[0][1].strip()
    start = answer.find("{")
    if start < 0:
        raise SchemaMismatch("There is no JSON object.", has_json=False)
    return f"{before}{answer[:start]}", answer[start:], after


def _repair(body: str, schema: Mapping[str, object]) -> Any:
    # The text after a closing brace might be another object, and the repair would choose one of the two.
    if len(body) > MAX_REPAIRED_CHARS or _goes_on.search(body) or _has_duplicate_names(body, schema):
        raise SchemaMismatch("It is not JSON.")
    if changes_meaning(body):
        raise SchemaMismatch("What it says depends on how it is mended.")
    try:
        return json_repair.loads(body)
    except (ValueError, RecursionError):
        raise SchemaMismatch("It is not JSON.") from None


def _has_duplicate_names(body: str, schema: Mapping[str, object]) -> bool:
    """Return whether a property of the answer occurs twice: the repair would silently use the last one."""
    names = schema.get("properties")
    repeated = (rf"[\"']{re.escape(name)}[\"']\s*:" for name in (names if isinstance(names, Mapping) else ()))
    return any(len(re.findall(pattern, body)) > 1 for pattern in repeated)


def _validate(value: Any, schema: Mapping[str, object]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise SchemaMismatch("It is not one JSON object.")
    # No other registry: a `$ref` to somewhere else is not fetched, and nothing has to be merged with it.
    validator = Draft202012Validator(schema, registry=SPECIFICATIONS)
    try:
        error = next(iter(validator.iter_errors(value)), None)
        is_finite = _is_finite(value)
    except (SchemaError, Unresolvable, RecursionError):
        raise SchemaMismatch("It cannot be checked.") from None
    if error is not None:
        raise SchemaMismatch(_describe_mismatch(error))
    if not is_finite:
        raise SchemaMismatch("It holds a number that is not finite.")
    return _replace_unstorable(value)


def _describe_mismatch(error: ValidationError) -> str:
    """Return where an answer does not fit, and which of the schema's own words it breaks; nothing of the answer's."""
    where = "".join(f"/{part}" for part in error.absolute_path)[:100] or "the top"
    if error.validator != "required":
        return f"At {where} it breaks the schema's `{error.validator}`."
    missing = [f"`{name}`" for name in error.validator_value if name not in error.instance]
    return f"At {where} it lacks {', '.join(missing)}, which the schema requires."


def _replace_unstorable(value: Any) -> Any:
    """Replace what neither the cache nor the database can store: NUL and lone surrogates."""
    if isinstance(value, str):
        return _unstorable.sub("\ufffd", value)
    if isinstance(value, dict):
        return {name: _replace_unstorable(part) for name, part in value.items()}
    return [_replace_unstorable(part) for part in value] if isinstance(value, list) else value


def _is_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _reject_duplicate_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    properties = dict(pairs)
    if len(properties) < len(pairs):
        raise SchemaMismatch("A name stands twice in one object.")
    return properties
