"""Custom checks of JSON, JSON Schema and numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluators.base import CannotScore, JSONValue, effective_settings
from evaluators.registry import find_evaluator
from tests.evaluators.custom_checks import Config, check, pointers
from tests.evaluators.samples import make_sample

# JSON


@pytest.mark.parametrize(
    ("output", "passed"),
    [
        ('{"a": [1, null, "x"]}', True),
        (" 1 ", True),
        ("", False),
        ("{a: 1}", False),
        ("```json\n{}\n```", False),
        ("{} {}", False),
        ("NaN", False),
        ("[Infinity]", False),
        ("1e999", False),
        ('{"a": 1, "a": 2}', False),
        ("9" * 301, False),
        ("[" * 100 + "]" * 100, True),
        ("[" * 101 + "]" * 101, False),
    ],
)
def test_json(output: str, passed: bool) -> None:
    assert check({"type": "json"}, output).passed is passed


PERSON: JSONValue = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "tags": {"uniqueItems": True}},
    "patternProperties": {"^x-": {"type": "integer"}},
    "additionalProperties": False,
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("output", "violations"),
    [
        ('{"name": "Jo", "tags": [1, 2], "x-n": 1}', []),
        ('{"name": "jo"}', [("/name", "pattern")]),
        ("{}", [("", "required")]),
        ('{"name": "Jo", "age": 3}', [("", "additionalProperties")]),
        ('{"name": "Jo", "x-n": "1"}', [("/*", "type")]),
        ('{"name": "Jo", "tags": [1, 1.0]}', [("/tags", "uniqueItems")]),
        ('{"name": "Jo", "tags": [1, true, "1", {"a": [1, {}]}, {"a": [1.5, {}]}]}', []),
        ("[]", [("", "type")]),
    ],
)
def test_json_schema(output: str, violations: list[tuple[str, str]]) -> None:
    found = check({"type": "json", "schema": PERSON}, output)
    assert found.passed is not bool(violations)
    assert found.extra["violations"] == [{"path": path, "keyword": keyword} for path, keyword in violations]


@pytest.mark.parametrize(
    ("divisor", "output", "passed"),
    [
        (0.01, "19.99", True),
        (0.01, "1e300", True),
        (0.01, "19.999", False),
        (0.1, "0.3", True),
        (1e-300, "1", True),
        (3, "9.0", True),
        (3, f"{3 * 10**200}", True),
        (3, f"{3 * 10**200 + 1}", False),
        (0.01, "true", True),
    ],
)
def test_multiples_are_those_of_the_decimals_as_they_are_written(divisor: float, output: str, passed: bool) -> None:
    assert check({"type": "json", "schema": {"multipleOf": divisor}}, output).passed is passed


def test_what_is_reported_repeats_no_value_and_no_key_of_the_output() -> None:
    schema: JSONValue = {"additionalProperties": {"type": "integer"}}
    assert "secret" not in repr(check({"type": "json", "schema": schema}, '{"secret key": "secret value"}'))


def test_draft_7_is_read_as_draft_7() -> None:
    items: JSONValue = {"items": [{"type": "integer"}], "additionalItems": False}
    schema: JSONValue = {"$schema": "http://json-schema.org/draft-07/schema#", **items}  # type: ignore[dict-item]
    assert not check({"type": "json", "schema": schema}, "[1, 2]").passed


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "objekt"}, "/schema/type"),
        ({"properties": {"a": {"minimum": "1"}}}, "/schema/properties/a/minimum"),
        ({"pattern": "(?=a)"}, "/schema/pattern"),
        ({"patternProperties": {"[": {}}}, "/schema/patternProperties/["),
        ({"$ref": "other.json"}, "/schema/$ref"),
        ({"$ref": "#/$defs/none"}, "/schema/$ref"),
        ({"$id": "http://example.org/"}, "/schema/$id"),
        ({"unevaluatedProperties": False}, "/schema/unevaluatedProperties"),
        ({"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}}, "/schema/properties/a/$schema"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "/schema/$schema"),
        ("object", "/schema"),
    ],
)
def test_schemas_are_checked_when_the_profile_is_saved(schema: JSONValue, pointer: str) -> None:
    assert pointer in pointers({"type": "json", "schema": schema})


def test_patterns_for_many_names_are_bounded() -> None:
    patterns: JSONValue = {f"^{number}z.*q": {} for number in range(100)}
    names = json.dumps({f"{number:x}": 0 for number in range(40_000)})
    with pytest.raises(CannotScore) as caught:
        check({"type": "json", "schema": {"patternProperties": patterns}}, names)

    assert caught.value.code == "input_too_long"
    too_many: JSONValue = {f"^{number}": {} for number in range(101)}
    assert pointers({"type": "json", "schema": {"patternProperties": too_many}}) == ["/schema"]


def test_properties_may_be_called_as_keywords_are() -> None:
    schema: JSONValue = {"properties": {"$id": {"type": "string"}, "pattern": {"type": "string"}, "$schema": {}}}
    assert check({"type": "json", "schema": schema}, '{"pattern": "("}').passed


# Numbers


@pytest.mark.parametrize(
    ("operation", "output", "more", "passed"),
    [
        ("eq", "It is $1,200.", {"value": 1200}, True),
        ("eq", "1200.5", {"value": 1200}, False),
        ("eq", "1200.5", {"value": 1200, "tolerance": 1}, True),
        ("ne", "3", {"value": 4}, True),
        ("lt", "3", {"value": 3}, False),
        ("le", "3", {"value": 3}, True),
        ("gt", "4", {"value": 3}, True),
        ("ge", "2", {"value": 3}, False),
        ("between", "about 5", {"min": 1, "max": 5}, True),
        ("between", "-5", {"min": 1, "max": 5}, False),
        ("eq", "1 or 2", {"value": 1, "pick": "first"}, True),
        ("eq", "1 or 2", {"value": 2, "pick": "only"}, False),
        ("eq", " $2.", {"value": 2, "pick": "only"}, True),
        ("eq", "none", {"value": 0}, False),
    ],
)
def test_numbers(operation: str, output: str, more: dict[str, JSONValue], passed: bool) -> None:
    assert check({"type": "numeric", "operation": operation, **more}, output).passed is passed


def check_by(id: str, config: Config, output: str, **fields: Any) -> bool | None:
    family, spec = find_evaluator(id) or pytest.fail()
    return family.score(make_sample(output=output, **fields), effective_settings(spec, config)).passed


@pytest.mark.parametrize(
    ("operation", "output", "more", "passed", "earlier"),
    [
        ("eq", "3/4", {"value": 0.75}, True, False),
        ("eq", "3/4", {"value": 4}, False, True),
        ("eq", "1 234", {"value": 234}, False, True),
        ("eq", "10~000", {"value": 10_000}, True, False),
        ("eq", "1.2 million", {"value": 1.2}, False, True),
        ("ge", "1.2 million", {"value": 1000}, True, False),
        ("eq", "2.2e-10", {"value": 2.2e-11}, False, True),
        ("eq", "2.2e-10", {"value": 2.2e-11, "tolerance": 1e-9}, True, True),
        ("eq", "\\boxed{42}, checked 2 times", {"value": 42}, True, False),
        ("eq", "3 1/2 cups of 4", {"value": 3.5, "pick": "first"}, True, False),
        ("eq", "8/10 and 3", {"value": 0.8, "pick": "first"}, True, False),
        ("eq", "1 or 2", {"value": 1, "pick": "first"}, True, True),
        ("eq", "2x + 3", {"value": 2, "pick": "first"}, False, True),
        ("ne", "2x + 3", {"value": 2, "pick": "first"}, False, False),
        ("eq", "1 234,50", {"value": 1234.5, "pick": "only"}, True, False),
        ("eq", " $2.", {"value": 2, "pick": "only"}, True, True),
        ("eq", "2 km", {"value": 2, "pick": "only"}, False, False),
        ("between", "7-8", {"min": 1, "max": 7.5}, False, False),
        ("between", "7-8", {"min": 7.5, "max": 9}, False, True),
        ("le", "7-8", {"value": 8}, True, True),
        ("eq", "It is 7 to 3-4.", {"value": "{{gold}}"}, True, True),
    ],
)
def test_a_dated_id_reads_numbers_as_exact_match_does(
    operation: str, output: str, more: Config, passed: bool, earlier: bool
) -> None:
    config: Config = {"type": "numeric", "operation": operation, **more}
    composed: Config = {"type": "all", "checks": [{"type": "any", "checks": [config]}]}
    for settings in (config, composed):
        assert check_by("custom-2026-11-28", settings, output, gold="3-4") is passed
        assert check_by("custom-2026-11-20", settings, output, gold="3-4") is earlier


def test_a_part_of_an_expression_is_nothing_to_compare_with() -> None:
    config: Config = {"type": "numeric", "operation": "eq", "value": "{{gold}}"}
    with pytest.raises(CannotScore):
        check_by("custom", config, "3", gold="2x + 3")


def test_numbers_of_other_fields_are_compared_with() -> None:
    config: Config = {"type": "numeric", "operation": "eq", "value": "{{gold}}"}
    assert check(config, "The sum is 12.", gold="#### 12").spans == ((11, 13),)
    with pytest.raises(CannotScore):
        check(config, "12", gold="a dozen")
