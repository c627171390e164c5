"""What configs declare of their outputs before there are any: the components, and what may lie at a pointer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TypeAlias

from evalsvc.experiments.definition.configs import Candidate
from evalsvc.experiments.definition.conversations import is_conversation
from evalsvc.experiments.definition.fields.json_forms import (
    MAX_POINTERS,
    MAX_SPECIMENS,
    Node,
    SchemaReader,
    Unknown,
    escaped,
    get_types,
)
from evalsvc.experiments.definition.fields.mapper import OUTPUT
from evalsvc.experiments.definition.fields.output_schemas import declared_schema
from evalsvc.experiments.models import Config

MAYBE_TEXT = {"type": ["string", "null"]}
CHAT = {OUTPUT: {"type": "string"}, "model": MAYBE_TEXT, "finish_reason": MAYBE_TEXT}
Components: TypeAlias = Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class Outputs:
    """What is declared of a config's outputs: their alternatives, each a set of components or an object of them."""

    name: str
    alternatives: tuple[Components | Node, ...]
    reader: SchemaReader

    def find_nodes(self, pointer: str) -> list[Node]:
        """Return the nodes that can be at a pointer; where the answer has nothing, a component next to it counts."""
        parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
        paths = [parts] if parts[:1] != [OUTPUT] or len(parts) == 1 else [parts, parts[1:]]
        return [node for alternative in self.alternatives for path in paths for node in self._under(alternative, path)]

    def _under(self, one: Components | Node, parts: Sequence[str]) -> list[Node]:
        if isinstance(one, Node):
            return self.reader.find_nodes(one, parts)
        return self.reader.find_nodes(one[parts[0]], parts[1:]) if parts and parts[0] in one else []

    def pointers(self, *, within: bool) -> list[str]:
        """List the declared pointers; those of components next to the answer unchanged, or as if `within` it."""
        pointers: list[str] = []
        for alternative in self.alternatives:
            nodes = (
                {"": alternative}
                if isinstance(alternative, Node)
                else {f"/{escaped(name)}": node for name, node in alternative.items()}
            )
            for start, node in nodes.items():
                pointers += [start] if start else []
                pointers += islice(self.reader.pointers(node, start), MAX_POINTERS)
        answer = f"/{OUTPUT}"
        return [
            answer + pointer if within and not pointer.startswith(answer) else pointer
            for pointer in pointers[:MAX_POINTERS]
        ]

    def specimens(self) -> Iterator[Mapping[str, object]]:
        """Yield outputs by component, of every declared kind. Raises Unknown where anything may come."""
        for alternative in self.alternatives:
            if isinstance(alternative, Node):
                yield from (value for value in self.reader.specimens(alternative) if isinstance(value, Mapping))
                continue
            columns = [[(name, value) for value in self.reader.specimens(node)] for name, node in alternative.items()]
            combinations = list(islice(product(*columns), MAX_SPECIMENS + 1))
            if len(combinations) > MAX_SPECIMENS:
                raise Unknown
            yield from map(dict, combinations)


def read_declared_outputs(config: Candidate | Config, reader: SchemaReader) -> Outputs | None:
    """Return what a config declares of its outputs; None when it may put out anything."""
    if is_conversation(config.kind, config.parameters):
        return None
    schema = declared_schema(config.kind, config.parameters)
    root_node = Node(schema or {}, schema or {})
    if config.kind == Config.Kind.CHAT:
        return Outputs(
            config.name, ({name: Node(part_schema, part_schema) for name, part_schema in CHAT.items()},), reader
        )
    if config.kind == Config.Kind.HTTP:
        names = list(config.parameters.get(OUTPUT, {OUTPUT: ""}))
        return Outputs(
            config.name, ({OUTPUT: root_node} if names == [OUTPUT] else _parts(root_node, names, reader),), reader
        )
    if config.kind == Config.Kind.PIPELINE:
        names = [OUTPUT, *config.parameters["nodes"]]
        return Outputs(config.name, (_parts(root_node, names, reader),), reader)
    return None if schema is None else Outputs(config.name, _alternatives(root_node, reader), reader)


def _parts(whole: Node, names: Sequence[str], reader: SchemaReader) -> Components:
    """Return what a schema tells of the parts of an answer. One that it does not name is there all the same."""
    schemas_by_name = {name: [node.schema for node in reader.find_nodes(whole, [name])] for name in names}
    return {name: Node({"anyOf": schemas or [{}]}, whole.root) for name, schemas in schemas_by_name.items()}


def _alternatives(whole: Node, reader: SchemaReader) -> tuple[Components | Node, ...]:
    """Return what a schema of the caller's outputs may mean: the answer alone, or an object by component."""
    forms = [form.schema for form in reader.forms(whole)]
    if all(get_types(form) == {"object"} and OUTPUT in form.get("properties", {}) for form in forms):
        return (whole,)
    return ({OUTPUT: whole}, whole) if reader.find_nodes(whole, [OUTPUT]) else ({OUTPUT: whole},)
