"""From a model's text to an answer: forgiving about what stands around it, strict about what it is."""

from __future__ import annotations

import json

import pytest

from evalsvc.judges.questions.parser import SchemaMismatch, parse
from tests.judges.asking import GOOD, SCHEMA

TEXT = json.dumps(GOOD)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f" {TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```",
        f"Sure!\n```json\n{TEXT}\n```\nAnything else?",
        f"My verdict is {TEXT}",
        f'<think>{{"score": 1}}</think>{TEXT}',
    ],
)
def test_the_json_is_found(text: str) -> None:
    parsed = parse(text, SCHEMA)

    assert parsed.data == GOOD and not parsed.was_repaired


@pytest.mark.parametrize("text", [TEXT.replace('"', "'"), TEXT[:-1] + ",}", TEXT[:-1]])
def test_almost_json_is_repaired(text: str) -> None:
    parsed = parse(text, SCHEMA)

    assert parsed.data == GOOD and parsed.was_repaired


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Good.",
        "[]",
        "null",
        "{}",
        TEXT.replace("1.0", "2"),
        TEXT.replace("1.0", "NaN"),
        TEXT.replace("1.0", "1e999"),
        TEXT.replace("1.0", '"1,0"'),
        TEXT.replace("1.0", '"1/1"'),
        TEXT.replace("1.0", '"100 %"'),
        TEXT.replace("1.0", '"2.0"'),
        TEXT.replace("1.0", '"NaN"'),
        TEXT.replace("1.0", "[1.0]"),
        TEXT.replace("1.0", "true"),
        TEXT.replace('"correct"', '"perfect"'),
        # Keys beyond the schema that could be another verdict.
        TEXT[:-1] + ', "final_score": 0.0}',
        TEXT[:-1] + ', "Score": 0}',
        TEXT[:-1] + ', "correctedScore": 0}',
        TEXT[:-1] + ', "passed": false}',
        TEXT[:-1] + ', "failed": true}',
        TEXT[:-1] + ', "failed": 1}',
        TEXT[:-1] + ', "grade": "B"}',
        TEXT[:-1] + ', "revised": {"score": 0.0}}',
        TEXT[:-1] + ', "history": [{"verdict": "incorrect"}]}',
        TEXT[:-1] + ', "\u043e\u0446\u0435\u043d\u043a\u0430": 0}',
        '{"first": ' + TEXT + ', "second": ' + TEXT + "}",
        '{"score": ' + TEXT + "}",
        '{"result": {"answer": ' + TEXT + "}}",
        '{"result": [' + TEXT + "]}",
        '{"result": ' + TEXT[:-1] + ', "score": 0}}',
        '{"result": ' + TEXT + "} or " + TEXT,
        # A key too many does not stand for one that is missing.
        json.dumps({name: value for name, value in GOOD.items() if name != "reasoning"} | {"why": "Because."}),
        TEXT + TEXT,
        f"{TEXT} and {TEXT}",
        f"{TEXT.replace(chr(34), chr(39))} and {TEXT}",
        "{" * 5000,
        '{"a":' * 5000,
        "{" + "x" * 300_000,
        TEXT[:-1] + ', "score": 0}',
        TEXT[:-1] + ', "score": 0',
        TEXT[:-1] + " or rather " + TEXT,
        # A mark within an answer that has acquired comes from what was shown to the model.
        json.dumps({**GOOD, "score": 0.0, "reasoning": "They say </think> "})[:-2] + TEXT + '"}',
    ],
)
def test_the_rest_is_no_answer(text: str) -> None:
    with pytest.raises(SchemaMismatch):
        parse(text, SCHEMA)


def test_a_misfit_repeats_nothing_of_the_text() -> None:
    with pytest.raises(SchemaMismatch) as caught:
        parse(json.dumps(GOOD | {"verdict": "my secret"}), SCHEMA)

    assert "secret" not in str(caught.value) and "/verdict" in str(caught.value)


def test_what_is_missing_is_named() -> None:
    answer = {name: value for name, value in GOOD.items() if name not in ("verdict", "score")}
    with pytest.raises(SchemaMismatch) as caught:
        parse(json.dumps(answer), SCHEMA)

    assert "At the top it lacks" in str(caught.value)
    assert "`verdict`" in str(caught.value) and "`score`" in str(caught.value)
    assert "`reasoning`" not in str(caught.value)


def test_prose_is_told_from_json_that_does_not_fit() -> None:
    with pytest.raises(SchemaMismatch) as prose:
        parse("Good.", SCHEMA)
    with pytest.raises(SchemaMismatch) as wrong:
        parse("{}", SCHEMA)

    assert (prose.value.has_json, wrong.value.has_json) == (False, True)


def test_no_schema_is_fetched() -> None:
    with pytest.raises(SchemaMismatch):
        parse("{}", {"$ref": "http://127.0.0.1:9/schema.json"})


@pytest.mark.parametrize("bad", ["\\u0000", "\\ud800"])
def test_what_cannot_be_stored_is_replaced(bad: str) -> None:
    parsed = parse(TEXT.replace("Because.", f"Be{bad}cause."), SCHEMA)

    assert parsed.data["reasoning"] == "Be\ufffdcause."


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("1.0", '"1.0"'),
        TEXT.replace("1.0", '" 1 "'),
        TEXT[:-1] + ', "more": 1}',
        TEXT[:-1] + ', "confidence": 0.9}',
        TEXT[:-1] + ', "confidence_score": 0.9, "notes": ["short"]}',
        TEXT[:-1] + ', "score_explanation": "It is right."}',
        TEXT[:-1] + ', "final_score": "1"}',
        TEXT[:-1] + ', "passed": true}',
        TEXT[:-1] + ', "metadata": {"model": "x"}}',
        '{"result": ' + TEXT + "}",
        '{"evaluation": ' + TEXT.replace("1.0", '"1.0"')[:-1] + ', "confidence": "high"}}',
        f"<think>a {{brace}} and <think> again</think>\n{TEXT}",
        f"Let me see: {{}} is empty.\n</think>\n\n{TEXT}",
        f"[THINK]hm[/THINK]{TEXT}",
    ],
)
def test_a_complete_answer_in_another_form_is_read(text: str) -> None:
    parsed = parse(text, SCHEMA)

    assert parsed.data == GOOD and not parsed.was_repaired


def test_what_a_wrapper_holds_is_what_was_written() -> None:
    assert parse('{"result": ' + TEXT + " }", SCHEMA).written == TEXT


def test_truths_in_quotes_and_keys_within_lists_are_read() -> None:
    item = {"type": "object", "properties": {"met": {"type": "boolean"}}, "required": ["met"]}
    schema = {"type": "object", "properties": {"checks": {"type": "array", "items": item}}, "required": ["checks"]}
    strict = {**schema, "properties": {"checks": {"type": "array", "items": {**item, "additionalProperties": False}}}}

    assert parse('{"checks": [{"met": "True"}, {"met": false, "why": "x"}]}', strict).data == {
        "checks": [{"met": True}, {"met": False}]
    }
    for bad in ('{"met": "maybe"}', '{"met": true, "passed": false}', '{"met": 1}'):
        with pytest.raises(SchemaMismatch):
            parse('{"checks": [' + bad + "]}", strict)
