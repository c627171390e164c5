"""Checking settings against a family's schema."""

from __future__ import annotations

import math

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.base import SettingsProblem
from evaluators.settings import (
    THRESHOLD,
    number_setting,
    object_schema,
    settings_problems,
)

SCHEMA = object_schema(
    {
        "pass_threshold": THRESHOLD,
        "metric": {"type": "string", "enum": ["bleu", "rouge1"]},
        "entities": {
            "type": "array",
            "items": {"type": "string", "enum": ["EMAIL", "PHONE"]},
            "minItems": 1,
            "uniqueItems": True,
        },
        "criteria": {"type": "string", "minLength": 2, "maxLength": 4},
        "deep": object_schema({"count": {"type": "integer", "minimum": 1}}, required=["count"]),
        "strict": {"type": "boolean"},
    }
)


def pointers(value: dict[str, object]) -> list[str]:
    return [problem.pointer for problem in settings_problems(value, SCHEMA)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "good",
    [
        {},
        {"pass_threshold": 0},
        {"pass_threshold": 1},
        {"pass_threshold": 0.5},
        {"metric": "bleu"},
        {"entities": ["EMAIL"]},
        {"entities": ["EMAIL", "PHONE"]},
        {"criteria": "ab"},
        {"criteria": "abcd"},
        {"deep": {"count": 1}},
        {"strict": True},
    ],
)
def test_it_accepts(good: dict[str, object]) -> None:
    assert pointers(good) == []


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        ({"pass_threshold": -0.01}, "/pass_threshold"),
        ({"pass_threshold": 1.01}, "/pass_threshold"),
        ({"pass_threshold": "0.5"}, "/pass_threshold"),
        ({"pass_threshold": None}, "/pass_threshold"),
        ({"pass_threshold": True}, "/pass_threshold"),
        ({"pass_threshold": math.nan}, "/pass_threshold"),
        ({"pass_threshold": math.inf}, "/pass_threshold"),
        ({"pass_threshold": [0.5]}, "/pass_threshold"),
        ({"metric": "meteor"}, "/metric"),
        ({"metric": 1}, "/metric"),
        ({"entities": []}, "/entities"),
        ({"entities": "EMAIL"}, "/entities"),
        ({"entities": ["EMAIL", "FACE"]}, "/entities/1"),
        ({"entities": ["EMAIL", "EMAIL"]}, "/entities"),
        ({"entities": [None]}, "/entities/0"),
        ({"criteria": "a"}, "/criteria"),
        ({"criteria": "abcde"}, "/criteria"),
        ({"deep": {}}, "/deep/count"),
        ({"deep": {"count": 0}}, "/deep/count"),
        ({"deep": {"count": 1.5}}, "/deep/count"),
        ({"deep": {"count": 1, "more": 2}}, "/deep/more"),
        ({"deep": []}, "/deep"),
        ({"strict": 1}, "/strict"),
        ({"unknown": 1}, "/unknown"),
        ({"a/b": 1}, "/a~1b"),
        ({"a~b": 1}, "/a~0b"),
        ({"": 1}, "/"),
    ],
)
def test_it_points_at_what_is_wrong(bad: dict[str, object], where: str) -> None:
    assert pointers(bad) == [where]


def test_it_lists_every_problem_at_once() -> None:
    assert sorted(pointers({"pass_threshold": 2, "metric": "x", "other": 1})) == [
        "/metric",
        "/other",
        "/pass_threshold",
    ]


def test_it_names_the_settings_there_are() -> None:
    [problem] = settings_problems({"treshold": 1}, object_schema({"pass_threshold": THRESHOLD}))
    assert problem == SettingsProblem("/treshold", "is not a setting; known are: pass_threshold")


def test_it_says_when_there_are_no_settings_at_all() -> None:
    [problem] = settings_problems({"x": 1}, object_schema({}))
    assert problem.detail == "is not a setting; known are: none"


def test_a_missing_setting_is_required() -> None:
    assert settings_problems({}, object_schema({"a": {"type": "string"}}, required=["a"])) == [
        SettingsProblem("/a", "is required")
    ]


def test_settings_that_are_no_object_are_one_problem() -> None:
    assert settings_problems([], SCHEMA) == [SettingsProblem("", "must be an object")]  # type: ignore[arg-type]


def test_a_number_setting_is_read_as_a_float() -> None:
    assert number_setting({"pass_threshold": 1}, "pass_threshold") == 1.0
    assert number_setting({}, "pass_threshold") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KNOWN = st.fixed_dictionaries(
    {},
    optional={
        "pass_threshold": st.sampled_from([0, 0.5, 1, 2, -1, "1", True]),
        "metric": st.sampled_from(["bleu", "x", 3]),
        "entities": st.lists(st.sampled_from(["EMAIL", "PHONE", "FACE", 1]), max_size=3),
        "criteria": st.text(max_size=6),
        "deep": st.dictionaries(st.sampled_from(["count", "x"]), st.integers(-1, 2)),
        "strict": st.booleans() | st.integers(0, 1),
    },
)


@given(st.dictionaries(st.text(), JSON, max_size=3) | KNOWN)
def test_it_agrees_with_a_full_validator(value: dict[str, object]) -> None:
    allowed = jsonschema.Draft202012Validator(SCHEMA).is_valid(value)
    # JSON Schema calls 1.0 an integer; these settings do not hold such a value, so the verdicts are the same.
    assert (pointers(value) == []) == allowed
