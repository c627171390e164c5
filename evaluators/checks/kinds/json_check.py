"""JSON checks: is the text JSON, and of the wanted shape?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evaluators.base import CannotScore, JSONValue, Sample, Settings, SettingsProblem
from evaluators.checks.json_text import NotJson, follow, read_json
from evaluators.checks.kinds.json_schema import DRAFT_7, DRAFT_2020, MAX_STEPS, breaches, meta_errors, violations
from evaluators.checks.kinds.regexes import BadPattern, accept_pattern
from evaluators.checks.outcome import CheckKind, Outcome, verdict
from evaluators.checks.words import COMMON, subject
from evaluators.settings import object_schema

MAX_CHARS = 1_000_000
MAX_SCHEMA_NODES = 5_000
MAX_SCHEMA_DEPTH = 60
MAX_PATTERNS = 100
"""Different ones in a schema: all stay compiled while it is used."""
SCHEMA = object_schema({**COMMON, "schema": {"type": "object"}})
_REFUSED = {
    "$id": "would move what references mean; leave it out",
    "$anchor": "is not known here; refer by a path, as in #/$defs/name",
    **dict.fromkeys(
        ("$dynamicRef", "$dynamicAnchor", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems"),
        "is not known here",
    ),
}
# The keys directly below these are chosen by the account: a property can have any name.
_NAMING = ("/properties", "/$defs", "/definitions", "/dependentSchemas", "/patternProperties")
_TRIALS: tuple[JSONValue, ...] = (None, {}, [], "", 0, True)


def _problems(settings: Settings, pointer: str) -> Iterator[SettingsProblem]:
    """Yield the problems of the schema, which is validated completely when it is saved."""
    schema = settings.get("schema")
    if isinstance(schema, Mapping):
        yield from schema_problems(schema, f"{pointer}/schema")


def _run(settings: Settings, sample: Sample) -> Outcome:
    """Parse the text as JSON and validate it. Reported paths contain keys of the schema only."""
    text = subject(settings, sample)
    if len(text) > MAX_CHARS:
        raise CannotScore("input_too_long", f"The text is longer than {MAX_CHARS} characters.")
    try:
        value = read_json(text)
    except NotJson as exc:
        return verdict(False, f"the text is not JSON: {exc}")
    schema = settings.get("schema")
    if not isinstance(schema, Mapping):
        return verdict(True, "the text is JSON")
    names = _names(schema)
    problems: list[JSONValue] = [
        {"path": _format_path(path, names), "keyword": keyword} for path, keyword in violations(schema, value)
    ]
    verb = "breaks" if problems else "keeps"
    return verdict(not problems, f"the JSON {verb} the schema", violations=problems)


def schema_problems(schema: Settings, pointer: str, *, n_steps: int = MAX_STEPS) -> Iterator[SettingsProblem]:
    """Yield the problems that prevent a schema from being used.

    These are its size, invalid JSON Schema, invalid patterns, and external references. `pointer` is the location of the
    schema. A schema without problems can be applied to any value in bounded time, and to an empty one in `n_steps`.
    """
    nodes = list(_walk(dict(schema), pointer, 0))
    if len(nodes) > MAX_SCHEMA_NODES or any(depth > MAX_SCHEMA_DEPTH for _, _, depth in nodes):
        detail = f"must have at most {MAX_SCHEMA_NODES} parts, {MAX_SCHEMA_DEPTH} levels deep"
        yield SettingsProblem(pointer, detail)
        return
    problems = [*_meta(schema, pointer)]
    for subschema, where, _ in nodes:
        if isinstance(subschema, dict):
            problems += _parts(schema, subschema, where)
            if "$schema" in subschema and where != pointer and not where.endswith(_NAMING):
                problems.append(SettingsProblem(f"{where}/$schema", "may stand at the top of the schema only"))
    if len({pattern for subschema, _, _ in nodes for _, pattern in _patterns(subschema, "")}) > MAX_PATTERNS:
        problems.append(SettingsProblem(pointer, f"must have at most {MAX_PATTERNS} different patterns"))
    yield from problems
    # Only a schema that is sound so far can be tried.
    if not problems:
        yield from _endless(schema, pointer, n_steps)


def _meta(schema: Settings, pointer: str) -> Iterator[SettingsProblem]:
    declared = schema.get("$schema", DRAFT_2020)
    if not isinstance(declared, str) or declared.rstrip("#") not in (DRAFT_2020, DRAFT_7):
        yield SettingsProblem(f"{pointer}/$schema", f"must be {DRAFT_2020} or {DRAFT_7}#")
        return
    for path, message in meta_errors(schema):
        yield SettingsProblem(pointer + _pointer(path), f"is not JSON Schema: {message}")


def _parts(root: Settings, schema: dict[str, JSONValue], pointer: str) -> Iterator[SettingsProblem]:
    for name, why in _REFUSED.items():
        if name in schema and not pointer.endswith(_NAMING):
            yield SettingsProblem(f"{pointer}/{_escape(name)}", why)
    reference = schema.get("$ref")
    if isinstance(reference, str) and not _resolves(root, reference):
        yield SettingsProblem(
            f"{pointer}/$ref", "must lead to a part of this schema, as in #/$defs/name; nothing is ever fetched"
        )
    for where, pattern in _patterns(schema, pointer):
        yield from _pattern_problems(pattern, where)


def _patterns(schema: JSONValue, pointer: str) -> Iterator[tuple[str, str]]:
    if not isinstance(schema, dict):
        return
    pattern, of_names = schema.get("pattern"), schema.get("patternProperties")
    if isinstance(pattern, str):
        yield f"{pointer}/pattern", pattern
    for name in of_names if isinstance(of_names, dict) else ():
        yield f"{pointer}/patternProperties/{_escape(name)}", name


def _pattern_problems(pattern: str, pointer: str) -> Iterator[SettingsProblem]:
    try:
        accept_pattern(pattern)
    except BadPattern as exc:
        yield SettingsProblem(pointer, str(exc))


def _endless(schema: Settings, pointer: str, n_steps: int) -> Iterator[SettingsProblem]:
    try:
        for trial in _TRIALS:
            breaches(schema, trial, n_steps=n_steps)
    except CannotScore:
        yield SettingsProblem(pointer, "refers to itself without end, or takes too long even for an empty value")


def _resolves(root: Settings, reference: str) -> bool:
    from urllib.parse import unquote

    if not reference.startswith("#"):
        return False
    steps = [unquote(step).replace("~1", "/").replace("~0", "~") for step in reference[1:].split("/")[1:]]
    if reference[1:] and not reference.startswith("#/"):
        return False
    try:
        return isinstance(_down(dict(root), steps), (dict, bool))
    except NotJson:
        return False


def _down(value: JSONValue, steps: list[str]) -> JSONValue:
    for step in steps:
        is_position = isinstance(value, list) and step.isascii() and step.isdigit() and len(step) < 6
        value = follow(value, (int(step) if is_position else step,))
    return value


def _walk(value: JSONValue, pointer: str, depth: int) -> Iterator[tuple[JSONValue, str, int]]:
    """Go through a schema without recursion, and stop soon after it is known to be too large."""
    waiting = [(value, pointer, depth)]
    for n_seen in range(MAX_SCHEMA_NODES + 1):
        if n_seen >= len(waiting):
            break
        subschema, where, level = waiting[n_seen]
        if isinstance(subschema, dict):
            waiting.extend((inner, f"{where}/{_escape(name)}", level + 1) for name, inner in subschema.items())
        elif isinstance(subschema, list):
            waiting.extend((inner, f"{where}/{index}", level + 1) for index, inner in enumerate(subschema))
    yield from waiting


def _names(schema: Settings) -> frozenset[str]:
    names: set[str] = set()
    for subschema, _, _ in _walk(dict(schema), "", 0):
        properties = subschema.get("properties") if isinstance(subschema, dict) else None
        names.update(properties if isinstance(properties, dict) else ())
    return frozenset(names)


def _format_path(path: tuple[str | int, ...], known: frozenset[str]) -> str:
    return _pointer(tuple(step if isinstance(step, int) or step in known else "*" for step in path))


def _pointer(path: tuple[str | int, ...]) -> str:
    return "".join(f"/{_escape(str(step))}" for step in path)


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


KIND = CheckKind(SCHEMA, _problems, _run)
