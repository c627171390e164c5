"""What is read in a schema about values that nobody has seen: never less than there may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsvc.experiments.definition.fields.json_forms import Node, SchemaReader, Unknown, get_types
from tests.datasets.shapes import schema_of

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "/", "0"]), inner, max_size=3)
    ),
    max_leaves=10,
)


def paths_in(value: Any) -> Iterator[list[str]]:
    yield []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in inner:
        yield from ([str(step), *rest] for rest in paths_in(one))


@given(st.lists(values, min_size=1, max_size=4))
@settings(derandomize=True)
def test_whatever_a_value_has_may_lie_there(seen: list[Any]) -> None:
    schema = schema_of(*seen)
    nowhere = [
        path for value in seen for path in paths_in(value) if not SchemaReader().find_nodes(Node(schema, schema), path)
    ]
    assert nowhere == []


@given(st.lists(values, min_size=1, max_size=4))
@settings(derandomize=True)
def test_specimens_satisfy_the_schema(seen: list[Any]) -> None:
    schema = schema_of(*seen)
    try:
        specimens = SchemaReader().specimens(Node(schema, schema))
    except Unknown:
        return
    validator = jsonschema.Draft202012Validator(schema)
    assert specimens and [one for one in specimens if not validator.is_valid(one)] == []


A, B = (
    {"properties": {"a": {"type": "string"}}},
    {"properties": {"b": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "number"}}},
)


@pytest.mark.parametrize(
    ("schema", "pointer", "types"),
    [
        ({"allOf": [A, B], "$defs": B["$defs"]}, "a", {"string"}),
        ({"allOf": [A, B], "$defs": B["$defs"]}, "b", {"number"}),
        ({"allOf": [A, B], "$defs": B["$defs"]}, "c", None),
        ({"oneOf": [A, {"type": "null"}]}, "a", {"string"}),
        ({"allOf": [{"type": "number"}, {"type": ["integer", "null"]}]}, "", {"integer"}),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "", None),
        ({"allOf": [A, {"properties": {"a": {"type": ["string", "null"]}}}]}, "a", {"string"}),
        ({**A, "patternProperties": {"^x_": {"type": "boolean"}}}, "x_1", {"boolean"}),
        ({**A, "patternProperties": {"^x_": {"type": "boolean"}}}, "y_1", None),
        ({**A, "additionalProperties": {"type": "null"}}, "z", {"null"}),
        ({**A, "additionalProperties": False}, "z", None),
        ({**A, "if": {"required": ["a"]}, "then": {"properties": {"z": {}}}}, "z", set()),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}, "0", {"string"}),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}, "1", {"number"}),
        ({"prefixItems": [{"type": "string"}], "items": False}, "1", None),
        ({"items": [{"type": "string"}], "additionalItems": {"type": "number"}}, "3", {"number"}),
        ({"type": "array", "maxItems": 2}, "2", None),
        ({"const": {"a": [1]}}, "a/0", set()),
        ({"enum": [{"a": 1}, 2]}, "b", None),
        ({"type": "object", "properties": {"a": False}}, "a", None),
        ({}, "anything", set()),
    ],
)
def test_it_reads_combinations(schema: Any, pointer: str, types: set[str] | None) -> None:
    found = SchemaReader().find_nodes(Node(schema, schema), pointer.split("/") if pointer else [])
    if types is None:
        assert found == []
    else:
        assert found and set().union(*(get_types(node.schema) or () for node in found)) == types


def test_a_schema_of_trees_is_read_as_far_as_asked() -> None:
    tree = {"properties": {"left": {"$ref": "#"}, "value": {"type": "number"}}, "required": ["left"]}
    (found,) = SchemaReader().find_nodes(Node(tree, tree), ["left"] * 30 + ["value"])
    assert found.schema == {"type": "number"}
    with pytest.raises(Unknown):
        SchemaReader().specimens(Node(tree, tree))
