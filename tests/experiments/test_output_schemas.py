"""What configs declare of their outputs: metrics are checked against it before a run, and outputs while it runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import (
    EXACT,
    chat,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
)
from tests.experiments.declared_schemas import (
    ANSWER,
    EXAMPLES,
    NUMBER,
    TEXT,
    asked,
    declared,
    refused,
    served,
)
from tests.experiments.pushing import PUSH


def reading(**sample: str) -> dict[str, Any]:
    return {**EXACT, "sample": sample}


FOUND = {"name": "found", "evaluator": "metrics", "criteria": "patronus:compute-levenshtein"}


@pytest.mark.parametrize("path", ["/v1/experiments", "/v1/experiments/preview"])
@pytest.mark.parametrize("config", [declared(ANSWER), served(ANSWER)])
def test_a_pointer_to_what_no_output_has_is_refused_before_the_run(alice: Caller, config: Any, path: str) -> None:
    body = asked(alice, [config], [EXACT | {"name": "first"}, reading(output="/output/answr")])
    error = refused(alice, body, path)
    assert error["pointer"] == "/plan/metrics/1/sample/output"
    assert "'/output/answr'" in error["detail"] and error["detail"].endswith("Did you mean `/output/answer`?")
    body["plan"]["metrics"] = [reading(output="/output/answer")]
    ok(alice.post(path, body))


@pytest.mark.parametrize(
    ("metric", "at", "why"),
    [
        (reading(output="/output/documents/0/txt"), "sample/output", "Did you mean `/output/documents/0/text`"),
        (reading(output="/output/answer/text"), "sample/output", "nothing at"),
        (reading(output="/output/pairs"), "sample/output", "a list of 2, and a text"),
        (reading(gold="/output/pairs", output="/output/answer"), "sample/gold", "cannot be read"),
        (reading(output="/output/documents"), None, ""),  # a reader's answers, the best one first
        (reading(gold="/output/answer", output="/output/tags/best"), None, ""),
        (reading(output="/output/documents/1/text"), None, ""),
        (reading(output="/output/seconds"), None, ""),
        ({"name": "m", "source": "/output/seconds"}, None, ""),
        ({"name": "m", "source": "/output/second"}, "source", "Did you mean `/output/seconds`?"),
        ({"name": "m", "source": "/output/answer"}, "source", "it is a text, and a number was expected"),
        (
            {"name": "m", "source": "/output/seconds", "denominator": "/output/documents", "type": "ratio"},
            "denominator",
            "a number was expected",
        ),
        ({"name": "m", "source": "/seconds"}, "source", "nothing at '/seconds'"),
    ],
)
def test_each_pointer_is_held_to_the_schema(alice: Caller, metric: Any, at: str | None, why: str) -> None:
    body = asked(alice, [declared(ANSWER)], [metric])
    if at is None:
        ok(alice.post("/v1/experiments", body))
        return
    error = refused(alice, body)
    assert error["pointer"] == f"/plan/metrics/0/{at}"
    assert why in error["detail"] and "'mine'" in error["detail"]


@pytest.mark.parametrize(
    ("field", "pointer", "is_fit"),
    [
        ("contexts", "/output/documents", True),
        ("contexts", "/output/seconds", False),
        ("contexts", "/output/answer", True),
        ("top_k_contexts", "/output/seconds", True),  # the evaluator does not read it
    ],
)
def test_what_a_field_cannot_take_is_refused(alice: Caller, field: str, pointer: str, is_fit: bool) -> None:
    metric = {"name": "grounded", "evaluator": "hallucination", "sample": {field: pointer}}
    body = asked(alice, [declared(ANSWER)], [metric])
    if is_fit:
        ok(alice.post("/v1/experiments", body))
    else:
        error = refused(alice, body)
        assert error["pointer"] == f"/plan/metrics/0/sample/{field}"
        assert "the number 1.5" in error["detail"]


def test_the_mapping_of_the_plan_is_pointed_at_once(alice: Caller) -> None:
    metrics = [EXACT, EXACT | {"name": "second"}, reading(output="/output/answer") | {"name": "third"}]
    error = refused(alice, asked(alice, [declared(ANSWER)], metrics, sample={"output": "/output/reply"}))
    assert error["pointer"] == "/plan/sample/output"


@pytest.mark.parametrize(
    ("schema", "is_fit"),
    [
        ({"type": "object", "properties": {"city": TEXT, "country": TEXT}, "required": ["city", "country"]}, False),
        ({"type": "object", "properties": {"city": TEXT, "country": TEXT}}, True),  # one of them may be left out
        ({"type": "object", "properties": {"city": TEXT, "n": NUMBER}, "required": ["city", "n"]}, False),
        ({"type": "object", "properties": {"answer": {"type": ["string", "null"]}}}, True),
        ({"type": "object", "properties": {"answer": {"type": "null"}}, "required": ["answer"]}, False),
        (
            {
                "type": "object",
                "properties": {"llm": {"type": "object", "properties": {"replies": {"type": "array", "items": TEXT}}}},
            },
            True,
        ),
        ({"type": "object", "properties": {"output": TEXT, "contexts": {"type": "array"}}}, True),
        ({"type": "object", "properties": {"city": TEXT, "n": NUMBER}, "additionalProperties": True}, True),
        ({"type": "array", "items": {"type": "object"}}, True),
        ({"type": "array", "items": {"type": "array", "items": NUMBER}}, False),
        ({"anyOf": [{"type": "null"}, {"const": "yes"}]}, True),
        ({"enum": [None, {"a": 1, "b": 2}]}, False),
        ({}, True),
    ],
)
def test_outputs_in_which_no_answer_is_found_are_refused(alice: Caller, schema: Any, is_fit: bool) -> None:
    body = asked(alice, [declared(schema)], [EXACT])
    if is_fit:
        ok(alice.post("/v1/experiments", body))
    else:
        assert refused(alice, body)["pointer"] == "/plan/metrics/0/sample/output"


def test_parts_of_an_http_answer_are_components(alice: Caller) -> None:
    output = {"output": "/text", "sources": "/found/documents"}
    body = asked(alice, [served(output=output)], [{"name": "m", "source": "/seconds"}])
    assert refused(alice, body)["pointer"] == "/plan/metrics/0/source"
    body["plan"]["metrics"] = [reading(output="/output/anything/at/all")]
    ok(alice.post("/v1/experiments", body))
    grounded = {"name": "grounded", "evaluator": "hallucination", "sample": {"contexts": "/output/sources"}}
    by_part = {"properties": {"output": TEXT, "sources": {"type": "array", "items": NUMBER}}}
    body = asked(alice, [served(by_part, output=output)], [grounded])
    assert "the number 1.5" in refused(alice, body)["detail"]
    body["plan"]["metrics"] = [grounded | {"sample": {"contexts": "/output/source"}}]
    # What the schema leaves open about an answer, it may have.
    ok(alice.post("/v1/experiments", asked(alice, [served(output=output)], body["plan"]["metrics"])))
    assert refused(alice, body)["detail"].endswith("Did you mean `/output/sources`?")
    body["plan"]["metrics"] = [{"name": "m", "source": "/source"}]
    assert refused(alice, body)["detail"].endswith("Did you mean `/sources`?")


def test_a_model_answers_with_a_text(alice: Caller) -> None:
    connection = make_connection(alice, "https://llm.example.com/v1")
    body = asked(alice, [chat(connection, "m")], [reading(output="/output/answer")])
    assert refused(alice, body)["pointer"] == "/plan/metrics/0/sample/output"
    body = asked(alice, [chat(connection, "m", output_schema=TEXT)], [EXACT])
    assert refused(alice, body)["pointer"] == "/configs/0/parameters/output_schema"


READER = [{"id": f"e{i}", "input": "q", "expected": {"reader": {"answer": "Rome"}}} for i in range(6)]
LLM: dict[str, Any] = {
    "type": "object",
    "properties": {"llm": {"type": "object", "properties": {"reply": TEXT}, "required": ["reply"]}},
    "required": ["llm"],
}


def test_declared_names_count_for_what_is_expected_of_components(alice: Caller) -> None:
    error = refused(alice, asked(alice, [declared(LLM)], [EXACT], READER))
    assert error["pointer"] == "/plan/metrics/0/sample/output"
    assert "`reader`" in error["detail"] and "`llm`" in error["detail"]
    with_reader = {
        **LLM,
        "properties": {
            **LLM["properties"],
            "reader": {"type": "object", "properties": {"answer": TEXT}, "required": ["answer"]},
        },
    }
    ok(alice.post("/v1/experiments", asked(alice, [declared(with_reader)], [EXACT], READER)))
    parts = {"properties": {"output": LLM}}
    named = served(parts, output={"output": "/all", "reader": "/reader"})
    ok(alice.post("/v1/experiments", asked(alice, [named], [EXACT], READER)))


def test_later_configs_clones_and_metrics_are_checked_too(alice: Caller) -> None:
    made = make_experiment(
        alice, make_dataset(alice, EXAMPLES), [declared(ANSWER)], metrics=[reading(output="/output/answer")]
    )
    at = f"/v1/experiments/{made['id']}"
    other = {"type": "object", "properties": {"reply": TEXT}}
    error = refused(
        alice, {"configs": [declared(ANSWER) | {"name": "b"}, declared(other) | {"name": "c"}]}, f"{at}/configs"
    )
    assert error["pointer"] == "/configs/1/parameters/output_schema"
    config = made["configs"][0]["id"]
    assert (
        refused(alice, {"changes": {"output_schema": other}}, f"{at}/configs/{config}/clone")["pointer"] == "/changes"
    )
    wrong = {"changes": {"/output_schema/properties/answer": {"type": "text"}}}
    pointer = refused(alice, wrong, f"{at}/configs/{config}/clone")["pointer"]
    assert pointer.startswith("/changes/output_schema/properties/answer")
    ok(alice.post(f"{at}/configs/{config}/clone", {"changes": {"output_schema": None}}))

    metric = reading(output="/output/reply") | {"name": "later"}
    ok(alice.post(f"{at}/metrics", {"metrics": [metric]}))  # the clone may answer so
    alone = make_experiment(alice, make_dataset(alice, EXAMPLES), [declared(ANSWER)])
    error = refused(alice, {"metrics": [metric]}, f"/v1/experiments/{alone['id']}/metrics")
    assert error["pointer"] == "/metrics/0/sample/output"


def deep(levels: int) -> Any:
    return {"allOf": [deep(levels - 1), deep(levels - 1)]} if levels else {"type": "object"}


def twofold(levels: int) -> Any:
    """A small schema that says the same thing 2ⁿ times."""
    parts = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**parts, f"d{levels}": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "at", "why"),
    [
        ("string", "", "is an object"),
        (None, "", "not null"),
        ({"type": "text"}, "/type", "not JSON Schema"),
        ({"$ref": "https://example.com/schema.json"}, "/$ref", "nothing is ever fetched"),
        ({"$ref": "#/$defs/none"}, "/$ref", "must lead to a part"),
        ({"$id": "https://example.com/x"}, "/$id", "leave it out"),
        ({"type": "string", "pattern": "(a+)+\\1$"}, "/pattern", ""),
        ({"$ref": "#"}, "", "without end"),
        (twofold(15), "", "takes too long"),
        ({"properties": {f"p{i}": {} for i in range(6000)}}, "", "bytes"),
        ({"anyOf": [{}] * 6000}, "", "parts"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "/$schema", "2020-12"),
    ],
)
def test_hostile_and_broken_schemas_are_refused(alice: Caller, schema: Any, at: str, why: str) -> None:
    for config in (declared(schema), served(schema) if schema is not None else declared(schema)):
        error = refused(alice, asked(alice, [config], [EXACT]))
        assert error["pointer"] == f"/configs/0/parameters/output_schema{at}"
        assert why in error["detail"]


@pytest.mark.parametrize("schema", [twofold(9), {"type": "object", "properties": {"a": deep(7)}}])
def test_what_takes_long_to_tell_may_be_anything(alice: Caller, schema: Any) -> None:
    metrics = [reading(output=f"/output/a/{i}") | {"name": f"m{i}"} for i in range(20)]
    answer = alice.post("/v1/experiments", asked(alice, [declared(schema)], metrics))
    assert answer.status_code in (200, 422)


def test_a_search_has_few_schemas(alice: Caller) -> None:
    search = {"output_schema": {"maxLength": list(range(1, 21))}}
    body = asked(alice, [{**PUSH, "search": search}], [EXACT])
    assert "16 different" in refused(alice, body)["detail"]
