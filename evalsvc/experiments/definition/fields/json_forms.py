"""What a JSON Schema implies for values: what can be at a path, and what a value looks like.

Names that are not in an object's `properties` are taken as absent, unless `additionalProperties` allows them.
Everything else that cannot be decided, or not within the budget, is taken as possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from evaluators.checks.kinds.regexes import is_found

MAX_STEPS = 50_000
MAX_FORMS = 50
MAX_LEVELS = 8
MAX_SPECIMENS = 200
MAX_POINTERS = 200
JOINING = ("$ref", "allOf", "anyOf", "oneOf", "$defs", "definitions")
# Under these an object may have members that `properties` do not name.
OPENING = ("if", "dependentSchemas", "dependencies")
PLAIN = {"string": "a", "number": 1.5, "integer": 1, "boolean": True, "null": None}


class Node(NamedTuple):
    """A part of a schema, and the whole that its references lead into."""

    schema: Any
    root: Any


class Unknown(Exception):
    """Raised when a schema allows any value."""


class SchemaReader:
    """Reads schemas, with one budget of steps for everything that a request needs from them."""

    def __init__(self) -> None:
        self._n_steps = MAX_STEPS

    def find_nodes(self, node: Node, parts: Sequence[str]) -> list[Node]:
        """Return the forms of what may lie at a path; none when nothing can lie there."""
        forms = self.forms(node)
        if not parts:
            return forms
        nodes: list[Node] = []
        for form in forms:
            for inner in self._under(form, parts[0]):
                nodes += self.find_nodes(inner, parts[1:])
        return nodes[:MAX_FORMS]

    def _under(self, form: Node, part: str) -> Iterator[Node]:
        """List what may lie under a name, or at an index."""
        schema, root = form
        if (values := _get_listed_values(schema)) is not None:
            yield from (Node({"const": inner}, root) for value in values for inner in _step(value, part))
            return
        types = get_types(schema)
        if types is None:
            yield Node({}, root)
            return
        if "object" in types:
            yield from (Node(inner, root) for inner in _members(schema, part))
        if "array" in types and part.isdecimal():
            yield from (Node(inner, root) for inner in _elements(schema, int(part[:9])))

    def forms(self, node: Node, level: int = 0) -> list[Node]:
        """Return the alternatives of a schema, each without references and combinations."""
        self._n_steps -= 1
        schema, root = node
        if schema is False:
            return []
        if not isinstance(schema, Mapping) or level > 2 * MAX_LEVELS or self._n_steps < 0:
            return [Node({}, root)]
        base_schema = {name: value for name, value in schema.items() if name not in JOINING}
        if base_schema.keys() & set(OPENING):
            base_schema.setdefault("additionalProperties", True)
        alternatives = [base_schema]
        for part in _iter_conjuncts(schema, root):
            alternatives = _combined(alternatives, [form.schema for form in self.forms(Node(part, root), level + 1)])
        for name in ("anyOf", "oneOf"):
            if name in schema:
                choices = [form.schema for option in schema[name] for form in self.forms(Node(option, root), level + 1)]
                alternatives = _combined(alternatives, choices)
        # More than anybody would tell apart by hand.
        return (
            [Node(alternative, root) for alternative in alternatives]
            if len(alternatives) <= MAX_FORMS
            else [Node({}, root)]
        )

    def specimens(self, node: Node, level: int = 0) -> list[object]:
        """Return values of every kind that a schema describes. Raises Unknown where the schema allows any value.

        All texts are equal, so that nothing depends on their content.
        """
        values = [value for form in self.forms(node) for value in self._iter_specimens(form, level)]
        if len(values) > MAX_SPECIMENS:
            raise Unknown
        return values

    def _iter_specimens(self, form: Node, level: int) -> Iterator[Any]:
        if (values := _get_listed_values(form.schema)) is not None:
            yield from values
            return
        types = get_types(form.schema)
        if types is None or level > MAX_LEVELS:
            raise Unknown
        for name in sorted(types):
            if name in PLAIN:
                yield PLAIN[name]
        if "array" in types:
            yield from self._lists(form, level)
        if "object" in types:
            yield from self._objects(form, level)

    def _lists(self, form: Node, level: int) -> Iterator[list[Any]]:
        """Yield lists of one item, or of two where more than one is required; an empty one would reveal nothing."""
        schema, root = form
        first = schema.get("prefixItems")
        if first:
            columns = [self.specimens(Node(item_schema, root), level + 1) for item_schema in first]
            yield from (list(values) for values in islice(product(*columns), MAX_SPECIMENS + 1))
            return
        if "items" not in schema or isinstance(schema["items"], list):
            raise Unknown
        n = 2 if schema.get("minItems", 0) > 1 else 1
        yield from ([value] * n for value in self.specimens(Node(schema["items"], root), level + 1))

    def _objects(self, form: Node, level: int) -> Iterator[dict[str, Any]]:
        """Yield objects with and without the members that they need not have."""
        schema, root = form
        properties = schema.get("properties", {})
        if schema.get("additionalProperties", not properties) is not False or "patternProperties" in schema:
            raise Unknown
        columns = [
            [*((name, value) for value in self.specimens(Node(inner, root), level + 1))]
            + ([] if name in schema.get("required", ()) else [None])
            for name, inner in properties.items()
        ]
        for members in islice(product(*columns), MAX_SPECIMENS + 1):
            yield dict(member for member in members if member is not None)

    def pointers(self, node: Node, start: str = "", level: int = 0) -> Iterator[str]:
        """List the pointers to what a schema names, from the top down."""
        if level > MAX_LEVELS // 2:
            return
        inner: list[tuple[str, Node]] = []
        for form in self.forms(node):
            properties = form.schema.get("properties", {})
            inner += [
                (f"{start}/{escaped(name)}", Node(property_schema, form.root))
                for name, property_schema in properties.items()
            ]
            items = form.schema.get("items")
            inner += [(f"{start}/0", Node(items, form.root))] if isinstance(items, Mapping) else []
        yield from (pointer for pointer, _ in inner)
        for pointer, inner_node in inner:
            yield from self.pointers(inner_node, pointer, level + 1)


def get_types(schema: Mapping[str, object]) -> set[str] | None:
    """Return the types that a schema without references allows; None for any. Keywords for members imply a type."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return {declared}
    if isinstance(declared, list):
        return set(declared)
    implied = {"object"} if {"properties", "required", "patternProperties"} & schema.keys() else set()
    implied |= {"array"} if {"items", "prefixItems"} & schema.keys() else set()
    return implied or None


def escaped(name: str) -> str:
    """Write a name as a part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def _get_listed_values(schema: Mapping[str, Any]) -> list[Any] | None:
    """Return the values that a schema lists; None when it lists none."""
    if "const" in schema:
        return [schema["const"]]
    return list(schema["enum"]) if "enum" in schema else None


def _step(value: Any, part: str) -> Iterator[Any]:
    if isinstance(value, Mapping) and part in value:
        yield value[part]
    elif isinstance(value, list) and part.isdecimal() and int(part[:9]) < len(value):
        yield value[int(part[:9])]


def _members(schema: Mapping[str, Any], name: str) -> Iterator[Any]:
    properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    matching = [member_schema for pattern, member_schema in patterns.items() if is_found(pattern, name)]
    if name in properties or matching:
        yield {"allOf": [*([properties[name]] if name in properties else []), *matching]}
    elif "additionalProperties" in schema:
        yield schema["additionalProperties"]
    elif not properties and not patterns:
        yield {}


def _elements(schema: Mapping[str, Any], index: int) -> Iterator[Any]:
    items = schema.get("items", {})
    first, additional = schema.get("prefixItems", []), items
    if isinstance(items, list):  # as draft 7 writes it
        first, additional = items, schema.get("additionalItems", {})
    if index < schema.get("maxItems", index + 1):
        yield first[index] if index < len(first) else additional


def _iter_conjuncts(schema: Mapping[str, Any], root: Any) -> Iterator[Any]:
    """List what a value must satisfy besides a schema's own words."""
    if "$ref" in schema:
        yield _referred(str(schema["$ref"]), root)
    yield from schema.get("allOf", ())


def _referred(reference: str, root: Any) -> Any:
    """Return the part of a schema that a reference names; `schema_problems` has seen that there is one."""
    from urllib.parse import unquote

    target = root
    for part in reference.removeprefix("#").split("/")[1:]:
        steps = list(_step(target, unquote(part).replace("~1", "/").replace("~0", "~")))
        if not steps:
            return True
        target = steps[0]
    return target


def _combined(some: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what satisfies one of the first and one of the second."""
    pairs = islice(product(some, others), MAX_FORMS + 1)
    return [merged for first, other in pairs if (merged := _merged(first, other)) is not None]


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any] | None:
    """Return a schema of what satisfies both; None where their types exclude each other."""
    merged = {**one, **other}
    if "type" in one and "type" in other:
        types, others = get_types(one) or set(), get_types(other) or set()
        merged["type"] = sorted(types & others)
        if {"integer", "number"} <= types ^ others:
            merged["type"].append("integer")
        if not merged["type"]:
            return None
    for name in one.keys() & other.keys():
        if name == "properties":
            merged[name] = _both(one[name], other[name])
        elif name == "required":
            merged[name] = [*one[name], *other[name]]
        elif name == "items":
            merged[name] = {"allOf": [one[name], other[name]]}
        elif name == "additionalProperties" and other[name] is False:
            merged[name] = one[name]
    return merged


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    common = {name: {"allOf": [one[name], other[name]]} for name in one.keys() & other.keys()}
    return {**one, **other, **common}
