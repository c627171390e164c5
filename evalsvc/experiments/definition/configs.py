"""Requested configs as candidates: checks their parameters, expands searches, and identifies equal outputs."""

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
from evalsvc.experiments.definition.fields.output_schemas import MAX_SCHEMAS, OUTPUT_SCHEMA
from evalsvc.experiments.definition.kinds import kind_problems
from evalsvc.experiments.definition.knobs import label, read_knobs, set_values, shorten_names
from evalsvc.experiments.definition.pipeline_checks import pipeline_problems
from evalsvc.experiments.definition.pipelines import PARAMETERS, PIPELINE, assign_inputs, chats_in
from evalsvc.experiments.definition.prompt_sources import PROMPT_FROM, pin_prompt
from evalsvc.judges.selectors import has_connection
from evalsvc.rest.problems import FieldError, Invalid

MAX_CONFIGS = 256
LARGEST_SPACE = 2**53
# Knobs that do not change the query: configs that are otherwise equal have equal outputs.
NOT_HASHED = {"timeout_seconds", OUTPUT_SCHEMA, PROMPT_FROM}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A config that is to be made."""

    name: str
    kind: str
    parameters: dict[str, Any]


@dataclass(slots=True)
class SizeBudget:
    """A limit on the size of all parameters that searches expand to, checked before all of them are built."""

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
        """Yield an error for each `chat` config or node with a missing connection. Requires the account's scope."""
        for at, chat in chats_in(kind, parameters):
            ref = chat.get("connection")
            if not isinstance(ref, str):
                continue
            if ref not in self._found:
                self._found[ref] = has_connection(account=self.account, ref=ref)
            if not self._found[ref]:
                yield f"{at}/connection", f"The account has no connection {ref[:100]!r}; make it first."


def expand(
    wanted: Sequence[Mapping[str, Any]], *, account: Account, pointer: str, taken: Sequence[str] = ()
) -> list[Candidate]:
    """Turn configs and searches over knobs into candidates with distinct names.

    Prompts and connections that are named are looked up. Raises Invalid with a pointer to each thing that is wrong.
    """
    errors: list[FieldError] = []
    candidates: list[Candidate] = []
    names = set(taken)
    room = SizeBudget(settings.MAX_BODY_BYTES, pointer)
    schemas: set[bytes] = set()
    connections = KnownConnections(account)
    for i, row in enumerate(wanted):
        at = f"{pointer}/{i}"
        try:
            points = [room.take(point) for point in itertools.islice(_points(row), MAX_CONFIGS + 1)]
        except ValueError as exc:
            errors.append(FieldError(f"{at}/search", str(exc)))
            continue
        for raw_parameters, suffix in points:
            parameters = prepare_parameters(account, row["kind"], raw_parameters, pointer=at)
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
            wrong = [*problems(row["kind"], parameters), *connections.problems(row["kind"], parameters)]
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
    base_parameters = dict(row.get("parameters") or {})
    search = row.get("search")
    if not search:
        yield base_parameters, ""
        return
    knobs = read_knobs(search)
    axes, paths, names = [knob.values for knob in knobs], [knob.path for knob in knobs], shorten_names(knobs)
    for values in _choices(axes, row.get("method") or "grid", row.get("n"), row.get("seed") or 0):
        yield set_values(base_parameters, paths, values), label(names, values)


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
    if kind == PIPELINE:
        yield from pipeline_problems(parameters)
    yield from kind_problems(kind, parameters)


def prepare_parameters(
    account: Account, kind: str, parameters: Mapping[str, Any], *, pointer: str, at: str = PARAMETERS
) -> dict[str, Any]:
    """Return the parameters as they are stored: named prompts are pinned, and short forms of inputs are expanded."""
    if kind == "chat":
        return pin_prompt(account, parameters, pointer=pointer, at=at)
    if kind != PIPELINE or not isinstance(parameters.get("nodes"), Mapping):
        return dict(parameters)
    nodes = {
        name: prepare_parameters(account, str(node.get("kind")), node, pointer=pointer, at=f"{at}/nodes/{name}")
        if isinstance(node, Mapping) and node.get("kind") == "chat"
        else node
        for name, node in parameters["nodes"].items()
    }
    return assign_inputs({**parameters, "nodes": nodes})


def hashed(parameters: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters that make the outputs of a config, or of a node."""
    return {knob: value for knob, value in parameters.items() if knob not in NOT_HASHED}


def hash_config(kind: str, parameters: Mapping[str, object], *, salt: str = "") -> str:
    """Return the digest of everything that determines the outputs: configs with equal digests would be answered alike.

    A `push` config runs the caller's code, which is unknown here: `salt` makes it different from every other config.
    """
    stage = hashed(parameters)
    if kind == PIPELINE:
        nodes = parameters.get("nodes")
        node_items = nodes.items() if isinstance(nodes, Mapping) else ()
        stage["nodes"] = {name: hashed(node) for name, node in node_items}
    text = orjson.dumps([kind, stage, salt], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()
