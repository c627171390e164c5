"""Candidates as asked for: check their parameters, expand searches, and say which make the same outputs."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.conf import settings

from evalsvc.accounts.models import Account
from evalsvc.experiments.definition.fields.output_schemas import MAX_SCHEMAS, OUTPUT_SCHEMA, schema_problems
from evalsvc.experiments.definition.fields.pointers import is_pointer
from evalsvc.experiments.definition.knobs import knobs_of, label, names_of, with_values
from evalsvc.experiments.definition.prompt_sources import PROMPT_FROM, pin_prompt, prompt_source_problems
from evalsvc.experiments.definition.templates import problem_with, template_names
from evalsvc.judges.selectors import has_connection
from evalsvc.outbound.guard import why_not_called
from evalsvc.rest.problems import FieldError, Invalid

MAX_CONFIGS = 256
LARGEST_SPACE = 2**53
SAMPLING = {
    "temperature": (int, float),
    "top_p": (int, float),
    "max_tokens": int,
    "max_completion_tokens": int,
    "seed": int,
    "stop": (str, list),
    "presence_penalty": (int, float),
    "frequency_penalty": (int, float),
    "reasoning_effort": str,
    "response_format": dict,
    "logit_bias": dict,
    "user": str,
}
# The least that a number may be.
COUNTS = {"max_tokens": 1, "max_completion_tokens": 1, "top_k": 0}
CHAT_FIELDS = {
    "connection",
    "model",
    "prompt",
    PROMPT_FROM,
    "system",
    "messages",
    "top_k",
    "timeout_seconds",
    *SAMPLING,
}
HTTP_FIELDS = {"url", "headers", "body", "output", OUTPUT_SCHEMA, "timeout_seconds"}
# Knobs that do not change what is asked: equal otherwise means equal outputs.
NOT_HASHED = {"timeout_seconds", OUTPUT_SCHEMA, PROMPT_FROM}
MAX_TIMEOUT_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Candidate:
    """A config that is to be made."""

    name: str
    kind: str
    parameters: dict[str, Any]


@dataclass(slots=True)
class Room:
    """A search must not make more of a body than a body may be; that shows before all of it is made."""

    n_bytes: int
    pointer: str

    def take(self, point: tuple[dict[str, Any], str]) -> tuple[dict[str, object], str]:
        """Return a point that there is room for; raises Invalid when there is none."""
        self.n_bytes -= len(orjson.dumps(point[0]))
        if self.n_bytes < 0:
            detail = f"The parameters of all configs have more than {settings.MAX_BODY_BYTES} bytes."
            raise Invalid(FieldError(self.pointer, detail))
        return point


@dataclass(slots=True)
class KnownConnections:
    """Which connections an account has, each looked up once."""

    account: Account
    _found: dict[str, bool] = field(default_factory=dict)

    def problems(self, kind: str, parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Say that a `chat` config names a connection that is not there. Within the account's scope."""
        ref = parameters.get("connection") if kind == "chat" else None
        if not isinstance(ref, str):
            return
        if ref not in self._found:
            self._found[ref] = has_connection(account=self.account, ref=ref)
        if not self._found[ref]:
            yield "/parameters/connection", f"The account has no connection {ref[:100]!r}; make it first."


def expand(
    wanted: Sequence[Mapping[str, Any]], *, account: Account, pointer: str, taken: Sequence[str] = ()
) -> list[Candidate]:
    """Turn configs and searches over knobs into candidates with distinct names.

    Prompts and connections that are named are looked up. Raises Invalid with a pointer to each thing that is wrong.
    """
    errors: list[FieldError] = []
    candidates: list[Candidate] = []
    names = set(taken)
    room = Room(settings.MAX_BODY_BYTES, pointer)
    schemas: set[bytes] = set()
    known = KnownConnections(account)
    for i, row in enumerate(wanted):
        at = f"{pointer}/{i}"
        try:
            points = [room.take(point) for point in itertools.islice(_points(row), MAX_CONFIGS + 1)]
        except ValueError as exc:
            errors.append(FieldError(f"{at}/search", str(exc)))
            continue
        for asked, suffix in points:
            parameters = pin_prompt(account, asked, pointer=at) if row["kind"] == "chat" else asked
            name = _name(row, suffix, len(candidates) + len(taken) + 1)
            if name in names and suffix:
                # Long values are shortened in names, and may then begin alike.
                name = f"{name[:90]} #{len(candidates) + len(taken) + 1}"
            if name in names:
                errors.append(FieldError(f"{at}/name", f"Two configs are named {name!r}."))
            names.add(name)
            schemas.add(orjson.dumps(parameters.get(OUTPUT_SCHEMA)))
            if len(schemas) > MAX_SCHEMAS:
                raise Invalid(FieldError(pointer, f"More than {MAX_SCHEMAS} different `{OUTPUT_SCHEMA}`s."))
            wrong = [*problems(row["kind"], parameters), *known.problems(row["kind"], parameters)]
            errors += [FieldError(at + where, detail) for where, detail in wrong]
            candidates.append(Candidate(name, row["kind"], parameters))
        if len(candidates) > MAX_CONFIGS:
            raise Invalid(FieldError(pointer, f"More than {MAX_CONFIGS} configs; search at random with a smaller `n`."))
    if errors:
        raise Invalid(*errors[:50])
    return candidates


def _name(row: Mapping[str, Any], suffix: str, number: int) -> str:
    base = row.get("name") or f"config {number}"
    return f"{base} {suffix}".strip()[:100] if suffix and row.get("name") else (suffix or base)[:100]


def _points(row: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    fixed = dict(row.get("parameters") or {})
    search = row.get("search")
    if not search:
        yield fixed, ""
        return
    knobs = knobs_of(search)
    axes, paths, names = [knob.values for knob in knobs], [knob.path for knob in knobs], names_of(knobs)
    for values in _choices(axes, row.get("method") or "grid", row.get("n"), row.get("seed") or 0):
        yield with_values(fixed, paths, values), label(names, values)


def _choices(axes: Sequence[list[Any]], method: str, n: int | None, seed: int) -> Iterator[tuple[Any, ...]]:
    if method == "grid":
        yield from itertools.product(*axes)
        return
    rng = random.Random(seed)  # noqa: S311  # nosec B311 - a seeded draw of configs, not a secret
    if n is None:
        raise ValueError("A random search needs `n`, the number of configs to draw.")
    size = 1
    for values in axes:
        size *= len(values)
    if size > LARGEST_SPACE:
        raise ValueError(f"More than {LARGEST_SPACE} combinations; leave out some values.")
    # Without replacement: asking the same config twice would only cost.
    for index in rng.sample(range(size), min(n, size, MAX_CONFIGS + 1)):
        point = []
        for values in reversed(axes):
            index, place = divmod(index, len(values))
            point.append(values[place])
        yield tuple(reversed(point))


def problems(kind: str, parameters: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """List what is wrong with the parameters of a config: a pointer and a sentence each."""
    if kind == "chat":
        yield from _chat_problems(parameters)
    elif kind == "http":
        yield from _http_problems(parameters)
    if kind != "chat" and OUTPUT_SCHEMA in parameters:
        yield from schema_problems(parameters[OUTPUT_SCHEMA])


def _chat_problems(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _unknown(parameters, CHAT_FIELDS)
    if not isinstance(parameters.get("connection"), str):
        yield "/parameters/connection", "Name the connection that answers, or give its id."
    yield from _typed(parameters, {**SAMPLING, "model": str, "prompt": str, "system": str, "top_k": int})
    yield from _timeout(parameters)
    yield from prompt_source_problems(parameters)
    if ("prompt" in parameters or PROMPT_FROM in parameters) == ("messages" in parameters):
        yield "/parameters", f"Give either `prompt` or `{PROMPT_FROM}` (with `system`, if you like), or `messages`."
    messages = parameters.get("messages", [])
    if "messages" in parameters and not (
        isinstance(messages, list) and messages and all(_is_message(message) for message in messages)
    ):
        yield "/parameters/messages", "`messages` is a list of objects with `role` and `content`, both texts."
    yield from _bad_names([parameters.get(key) for key in ("prompt", "system")] + [messages])


def _is_message(message: Any) -> bool:
    return isinstance(message, Mapping) and set(message) == {"role", "content"} and isinstance(message["content"], str)


def _http_problems(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _unknown(parameters, HTTP_FIELDS)
    if why := why_not_called(str(parameters.get("url", ""))):
        yield "/parameters/url", why
    yield from _timeout(parameters)
    headers = parameters.get("headers", {})
    if not isinstance(headers, Mapping) or not all(isinstance(value, str) for value in headers.values()):
        yield "/parameters/headers", "`headers` is an object of texts."
    output = parameters.get("output", {"output": ""})
    if not isinstance(output, Mapping) or "output" not in output:
        yield "/parameters/output", '`output` maps at least "output" to a JSON pointer into the answer.'
    else:
        for name, pointer in output.items():
            if not isinstance(pointer, str) or not is_pointer(pointer):
                yield f"/parameters/output/{name}", f"{pointer!r} is not a JSON pointer; write for example `/answer`."
    yield from _bad_names([parameters.get("body")])


def _unknown(parameters: Mapping[str, Any], known: set[str]) -> Iterator[tuple[str, str]]:
    for knob in parameters.keys() - known:
        yield f"/parameters/{knob}", f"{knob!r} is not a parameter here; there are {', '.join(sorted(known))}."


def _typed(parameters: Mapping[str, Any], types: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for knob, kind in types.items():
        value = parameters.get(knob)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            yield f"/parameters/{knob}", f"{value!r:.100} is not a value that `{knob}` can have."
        elif value is not None and knob in COUNTS and value < COUNTS[knob]:
            yield f"/parameters/{knob}", f"`{knob}` is {COUNTS[knob]} or more, and not {value!r:.100}."


def _timeout(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    value = parameters.get("timeout_seconds")
    if value is not None and (
        not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= MAX_TIMEOUT_SECONDS
    ):
        yield "/parameters/timeout_seconds", f"A number of seconds between 0 and {MAX_TIMEOUT_SECONDS}."


def _bad_names(templates: list[Any]) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys(template_names(templates)):
        if why := problem_with(name):
            yield "/parameters", why


def hash_of(kind: str, parameters: Mapping[str, object], *, salt: str = "") -> str:
    """Return the digest of what makes the outputs: configs with the same one would be answered alike.

    A `push` config is the caller's own code, of which nothing is known here: `salt` keeps it apart from every other.
    """
    stage = {knob: value for knob, value in parameters.items() if knob not in NOT_HASHED}
    text = orjson.dumps([kind, stage, salt], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()
