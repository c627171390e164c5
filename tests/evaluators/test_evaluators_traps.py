"""Profiles and outputs that are meant to hurt: none may hang, call out, crash, or put words into a template."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from evaluators.base import CannotScore, JSONValue, Score
from evaluators.checks.formula import BadFormula, parse_formula
from evaluators.checks.kinds.json_schema import violations
from evaluators.families.custom import Custom
from tests.evaluators.samples import make_sample

FAMILY = Custom()
Config = dict[str, JSONValue]
BOMB = "a" * 50_000 + "!"
# Python's `re` doubles its time with every letter here: thirty take minutes, and RE2 needs milliseconds.
EVIL = "^(a+)+$"


def run(config: Config, output: str, **fields: str) -> Score:
    assert FAMILY.check_settings(config) == []
    return FAMILY.score(make_sample(output=output, **fields), config)


def schema(**words: Any) -> Config:
    return {"type": "json", "schema": words}


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def quickly(work: Callable[[], object]) -> None:
    """Fail when work takes more CPU than any bounded way of doing it could."""
    started = time.thread_time()
    work()
    assert time.thread_time() - started < 20


# Patterns that explode


@pytest.mark.timeout(60)
@pytest.mark.parametrize("mode", ["search", "fullmatch", "not"])
@pytest.mark.parametrize("pattern", [EVIL, "^(a|a)*$", "(a*)*b", "(.*)(.*)(.*)(.*)x", "^(([a-z])+.)+[A-Z]$"])
def test_a_pattern_cannot_explode(pattern: str, mode: str) -> None:
    quickly(lambda: run({"type": "regex", "pattern": pattern, "mode": mode}, BOMB))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "words",
    [
        {"pattern": EVIL},
        {"propertyNames": {"pattern": EVIL}},
        {"patternProperties": {EVIL: {}}},
        {"patternProperties": {EVIL: {}}, "additionalProperties": False},
        {"properties": {"x": {"$ref": "#"}}, "pattern": EVIL},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "items": {"$ref": "#"}, "pattern": EVIL},
        {"$schema": "http://json-schema.org/draft-07/schema#", "items": {"$ref": "#"}, "pattern": EVIL},
    ],
)
def test_a_pattern_in_a_schema_cannot_explode(words: dict[str, JSONValue]) -> None:
    for output in (f'"{BOMB}"', f'{{"{BOMB}": 1}}', f'["{BOMB}"]', f'{{"x": "{BOMB}"}}'):
        quickly(lambda output=output: run(schema(**words), output))


# References that leave, and that never end


@pytest.mark.usefixtures("no_sockets")
@pytest.mark.parametrize(
    "reference",
    [
        "http://127.0.0.1:9/schema.json",
        "https://example.org/schema.json",
        "//example.org/x",
        "file:///etc/passwd",
        "schema.json",
        "#anchor",
        "#/$defs/none",
    ],
)
def test_a_reference_is_never_fetched(reference: str) -> None:
    config = schema(properties={"a": {"$ref": reference}})
    assert [problem.pointer for problem in FAMILY.check_settings(config)] == ["/schema/properties/a/$ref"]
    with pytest.raises(Exception, match=r"Unresolvable|PointerToNowhere|NoSuchAnchor"):
        violations({"$ref": reference}, {})


def test_a_reference_cannot_be_hidden_behind_an_address() -> None:
    config = schema(**{"$id": "http://127.0.0.1:9/", "$ref": "#/$defs/a", "$defs": {"a": {}}})
    assert [problem.pointer for problem in FAMILY.check_settings(config)] == ["/schema/$id"]


@pytest.mark.timeout(60)
def test_references_in_a_circle_are_refused() -> None:
    for words in (
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    ):
        assert [problem.pointer for problem in FAMILY.check_settings(schema(**words))] == ["/schema"]


@pytest.mark.timeout(60)
def test_references_that_double_forty_times_are_refused() -> None:
    levels: dict[str, JSONValue] = {"l0": {"type": "integer"}}
    for n in range(1, 41):
        levels[f"l{n}"] = {"allOf": [{"$ref": f"#/$defs/l{n - 1}"}, {"$ref": f"#/$defs/l{n - 1}"}]}
    config = schema(**{"$ref": "#/$defs/l40", "$defs": levels})
    quickly(lambda: FAMILY.check_settings(config))
    assert [problem.pointer for problem in FAMILY.check_settings(config)] == ["/schema"]


@pytest.mark.timeout(60)
def test_a_circle_that_only_a_sample_reaches_is_declined() -> None:
    config = schema(properties={"a": {"$ref": "#/$defs/a"}}, **{"$defs": {"a": {"$ref": "#/$defs/a"}}})
    with pytest.raises(CannotScore) as refusal:
        run(config, '{"a": 1}')
    assert refusal.value.code == "input_too_long"


@pytest.mark.parametrize("depth", [100, 5_000, 100_000])
def test_a_schema_without_a_bottom_is_refused(depth: int) -> None:
    words: dict[str, JSONValue] = {}
    for _ in range(depth):
        words = {"not": words}
    assert [problem.pointer for problem in FAMILY.check_settings(schema(**words))] == ["/schema"]


# JSON that is meant to hurt


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "output",
    [
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "9" * 400_000,
        "1e" + "9" * 400_000,
        '"' + "\\u0000" * 60_000,
        '{"a": NaN}',
        "-Infinity",
        '{"a": 1, "a": 2}',
        "\x00",
        "\ufeff{}",
    ],
)
@pytest.mark.parametrize("config", [{"type": "json"}, schema(items={"$ref": "#"}, uniqueItems=True)])
def test_bad_json_fails_cleanly(config: Config, output: str) -> None:
    found = run(config, output)
    assert (found.value, found.passed) == (0.0, False)
    assert found.explanation is not None
    assert len(found.explanation) < 200


@pytest.mark.timeout(60)
def test_many_items_are_told_apart_in_time() -> None:
    output = "[" + ",".join(f'{{"a": [{n}, {{}}]}}' for n in range(25_000)) + "]"
    quickly(lambda: run(schema(uniqueItems=True), output))
    assert run(schema(uniqueItems=True), output).passed


@pytest.mark.timeout(60)
def test_too_much_to_check_is_declined() -> None:
    choices: list[JSONValue] = [f"choice {n}" for n in range(2_000)]
    with pytest.raises(CannotScore) as refusal:
        run(schema(items={"enum": choices}), "[" + ",".join(['"choice 1999"'] * 50_000) + "]")
    assert refusal.value.code == "input_too_long"


# Templates


@pytest.mark.parametrize(
    "text",
    [
        "{{gold}}",
        "{{ 7*7 }}",
        "{gold}",
        "{0.__class__}",
        "%(gold)s",
        "${gold}",
        "\\g<0>",
        "\\1",
        "{% if 1 %}",
        "{{{{gold}}}}",
    ],
)
def test_what_a_sample_says_is_never_read_as_a_template(text: str) -> None:
    equal: Config = {"type": "string", "operation": "eq", "value": "{{input}}"}
    assert run(equal, text, input=text, gold="secret").passed
    grader: Config = {
        "type": "string_check",
        "operation": "eq",
        "input": "{{sample.output_text}}{{item.reference}}",
        "reference": "{{ item.input }}secret",
    }
    assert run(grader, text, input=text, gold="secret").passed


def test_a_template_cannot_grow_without_bound() -> None:
    config: Config = {"type": "string", "operation": "eq", "value": "{{input}}" * 50}
    with pytest.raises(CannotScore) as refusal:
        run(config, "x", input="y" * 100_000)
    assert refusal.value.code == "input_too_long"


@pytest.mark.timeout(60)
def test_braces_without_an_end_are_read_once() -> None:
    quickly(lambda: FAMILY.check_settings({"type": "string", "operation": "eq", "value": "{{" * 25_000}))


# Formulas


@pytest.mark.parametrize(
    "formula",
    [
        "__import__('os').system('true')",
        "a.__class__",
        "(lambda: 1)()",
        "[x for x in (1, 2)]",
        "a if a else a",
        "a and a",
        "a < 1",
        "a[0]",
        "'a' * 9",
        "f'{a}'",
        "a := 1",
        "min(a, key=a)",
        "eval(a)",
        "min",
        "True",
        "1j",
        "a // 2",
        "~a",
        "",
        "a; a",
        "a\n+ a",
        "(" * 500 + "a" + ")" * 500,
        "-" * 900 + "a",
        "a" * 1_001,
    ],
)
def test_a_formula_is_arithmetic_and_nothing_else(formula: str) -> None:
    with pytest.raises(BadFormula):
        parse_formula(formula, frozenset({"a"}))


@pytest.mark.parametrize(
    "formula", ["9^9^9^9", "a / 0", "log(0 * a)", "sqrt(0 - a)", "exp(1000)", "1e308 * 10", "9" * 900]
)
def test_a_formula_without_a_finite_result_is_no_score(formula: str) -> None:
    with pytest.raises(BadFormula):
        parse_formula(formula, frozenset({"a"}))({"a": 1.0})
