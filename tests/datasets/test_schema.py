"""The schema that is made from values."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsvc.datasets.schema import MAX_PROPERTIES
from tests.datasets.shapes import schema_of

names = st.sampled_from("abc") | st.text(max_size=4)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (["a", "b"], {"type": "string"}),
        (["a", None], {"type": ["string", "null"]}),
        ([1, 2.5], {"type": "number"}),
        ([True, 1], {"type": ["boolean", "integer"]}),
        ([[], [1, "a"]], {"type": "array", "items": {"type": ["integer", "string"]}}),
        (
            [{"q": "a", "k": 1}, {"q": "b"}],
            {"type": "object", "properties": {"q": {"type": "string"}, "k": {"type": "integer"}}, "required": ["q"]},
        ),
        ([], {}),
    ],
)
def test_it_says_what_was_seen(seen: list[Any], expected: dict[str, Any]) -> None:
    assert schema_of(*seen) == expected


def test_ever_new_keys_are_a_map() -> None:
    documents = [{f"d{n}": n % 3} for n in range(MAX_PROPERTIES + 1)]

    assert schema_of(*documents) == {"type": "object", "additionalProperties": {"type": "integer"}}


def test_an_endless_key_is_not_shown() -> None:
    assert schema_of({"x" * 1000: {"y": 1}}) == {
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"y": {"type": "integer"}}, "required": ["y"]},
    }


@given(st.lists(values, min_size=1, max_size=6) | st.lists(st.dictionaries(st.text(), values), min_size=1, max_size=80))
@settings(derandomize=True)
def test_every_value_satisfies_it(seen: list[Any]) -> None:
    validator = jsonschema.Draft202012Validator(schema_of(*seen))

    assert [value for value in seen if not validator.is_valid(value)] == []
