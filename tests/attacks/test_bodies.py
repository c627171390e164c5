"""Hostile bodies: each gets a 4xx problem that points at the field, and leaves nothing behind."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from evalsvc.evaluations.models import EvaluationRequest
from tests.conftest import Caller
from tests.rest.shapes import assert_problem

GOOD = {"evaluators": [{"evaluator": "exact-match"}], "output": "Paris", "label": "Paris", "app": "shop"}
SAID = (
    *("task_input", "evaluated_model_input", "input", "task_output", "evaluated_model_output", "output"),
    *("gold_answer", "evaluated_model_gold_answer", "label", "system_prompt", "evaluated_model_system_prompt"),
    *("gold_answers", "evaluated_model_gold_answers", "baseline_output", "evaluated_model_baseline_output"),
)
MESSAGES = ("conversation", "reference")
RETRIEVED = (
    *("task_context", "evaluated_model_retrieved_context"),
    *("gold_context", "evaluated_model_gold_context", "top_k_context", "evaluated_model_top_k_context"),
    *("contexts", "gold_contexts", "top_k_contexts"),
)
TEXTS = (
    *("evaluated_model_name", "evaluated_model_provider", "evaluated_model_selected_model"),
    *(
        "finish_reason",
        "app",
        "project_id",
        "project_name",
        "log_id",
        "trace_id",
        "span_id",
        "confidence_interval_strategy",
    ),
)
OTHERS = (
    *("evaluated_model_attachments", "evaluated_model_id"),
    *(
        "evaluated_model_params",
        "explain",
        "capture",
        "config",
        "experiment_id",
        "dataset_id",
        "dataset_sample_id",
        "tags",
        "strip_thinking",
    ),
)
REFERENCE = ("evaluator", "evaluator_id", "criteria", "profile_name", "explain_strategy", "profile_inline")
WRONG: dict[str, Any] = {"number": 1.5, "bool": True, "list": [[1]], "object": {"a": {"b": 1}}}
ALLOWED = {
    *[(name, "object") for name in ("evaluated_model_params", "profile_inline")],
    *[(name, "bool") for name in ("explain", "strip_thinking")],
}


def wrong_types() -> Iterator[tuple[str, str]]:
    """Every field of the body with every JSON type that it is not."""
    for name in (*TEXTS, *OTHERS, *REFERENCE):
        for kind in WRONG:
            if (name, kind) not in ALLOWED:
                yield name, kind


def n_stored(caller: Caller) -> int:
    return EvaluationRequest.objects.using("system").filter(account_id=caller.account.pk).count()


def raw_body(**values: str) -> bytes:
    """The good body with fields written as given, JSON or not."""
    fields = {name: json.dumps(value) for name, value in GOOD.items()} | values
    return ("{" + ",".join(f'"{name}":{text}' for name, text in fields.items()) + "}").encode()


def test_the_fields_listed_here_are_all_there_are() -> None:
    from evalsvc.evaluations.wire.request import Body, EvaluatorRef

    assert {*SAID, *RETRIEVED, *MESSAGES, *TEXTS, *OTHERS, "evaluators"} == set(Body.__struct_fields__)
    assert set(REFERENCE) == set(EvaluatorRef.__struct_fields__)


@pytest.mark.parametrize(("name", "kind"), list(wrong_types()))
def test_it_refuses_the_wrong_type(alice: Caller, name: str, kind: str) -> None:
    inside = name in REFERENCE
    value = {"evaluators": [{"evaluator": "exact-match", name: WRONG[kind]}]} if inside else {name: WRONG[kind]}

    problem = assert_problem(alice.post("/v1/evaluate", GOOD | value), "validation_failed")

    where = f"/evaluators/0/{name}" if inside else f"/{name}"
    assert problem["errors"][0]["pointer"].startswith(where)
    assert n_stored(alice) == 0


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, kind) for name in SAID for kind in ("list", "object")),
        *((name, kind) for name in RETRIEVED for kind in WRONG),
    ],
)
def test_an_input_of_the_wrong_type_has_no_score(alice: Caller, name: str, kind: str) -> None:
    sample = {"input": "i", "output": "o", "task_context": ["c"], "gold_answer": "o", "system_prompt": "s"}
    webhook = {"evaluator": "webhook", "profile_inline": {"url": "https://hook.example"}}
    sample.pop("gold_answer" if name == "label" else name, None)
    field = name.split("_")[-1].removesuffix("s")
    sample = {key: value for key, value in sample.items() if key.split("_")[-1] != field}
    body = sample | {"evaluators": [webhook]}

    (result,) = alice.post("/v1/evaluate", body | {name: WRONG[kind]}).json()["results"]

    assert (result["status"], result["error_code"]) == ("validation_error", "wrong_type")
    assert result["evaluation_result"] is None
    assert "`evaluated_model_" in result["error_message"]


@pytest.mark.parametrize("value", [None, 1, "exact-match", {}, [None], ["exact-match"], [[]], [], [{}] * 51, [{}]])
def test_it_refuses_a_list_of_evaluators_that_is_none(alice: Caller, value: Any) -> None:
    problem = assert_problem(alice.post("/v1/evaluate", GOOD | {"evaluators": value}), "validation_failed")

    assert problem["errors"][0]["pointer"].startswith("/evaluators")


def test_it_asks_for_evaluators(alice: Caller) -> None:
    body = {name: value for name, value in GOOD.items() if name != "evaluators"}

    assert "evaluators" in assert_problem(alice.post("/v1/evaluate", body), "validation_failed")["detail"]


def test_it_asks_for_input_or_output(alice: Caller) -> None:
    body = {"evaluators": GOOD["evaluators"], "label": "Paris"}

    assert_problem(alice.post("/v1/evaluate", body), "validation_failed", "/evaluated_model_output")


@pytest.mark.parametrize("name", MESSAGES)
@pytest.mark.parametrize("value", [*WRONG.values(), "a text"], ids=[*WRONG, "text"])
def test_messages_of_the_wrong_type_have_no_score(alice: Caller, name: str, value: object) -> None:
    strict = {"evaluator": "trajectory", "criteria": "patronus:trajectory-strict"}
    body = {"evaluators": [strict], "conversation": [{"role": "user", "content": "x"}], "reference": []}

    answer = alice.post("/v1/evaluate", body | {name: value}).json()

    assert answer["results"][0]["error_code"] == "wrong_type"
    assert answer["warnings"][0]["pointer"].startswith(f"/{name}")


@pytest.mark.parametrize("name", [*SAID, *RETRIEVED, *MESSAGES, *TEXTS])
def test_it_refuses_a_nul_character(alice: Caller, name: str) -> None:
    problem = assert_problem(alice.post("/v1/evaluate", GOOD | {name: "a\0b"}), "validation_failed")

    assert problem["errors"][0]["pointer"] == f"/{name}"
    assert n_stored(alice) == 0


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"tags": {"k": "a\0"}}, "/tags/k"),
        ({"tags": {"k\0": "a"}}, "/tags/k\0"),
        ({"task_context": ["fine", "a\0"]}, "/task_context/1"),
        ({"evaluators": [{"evaluator": "a\0"}]}, "/evaluators/0/evaluator"),
        ({"evaluators": [{"evaluator": "pii", "criteria": "\0"}]}, "/evaluators/0/criteria"),
        ({"evaluated_model_params": {"deep": [{"a/b": "\0"}]}}, "/evaluated_model_params/deep/0/a~1b"),
        ({"evaluated_model_attachments": [{"url": "\0", "media_type": "a"}]}, "/evaluated_model_attachments/0/url"),
        ({"dataset_id": "\0"}, "/dataset_id"),
        ({"never heard of it": "\0"}, "/never heard of it"),
    ],
)
def test_it_refuses_a_nul_character_anywhere(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    assert_problem(alice.post("/v1/evaluate", GOOD | fields), "validation_failed", pointer)


@pytest.mark.parametrize(
    "body",
    [
        *(b" ", b"{", b'{"evaluators":', b"nope", b"{'a':1}", b"\xef\xbb\xbf{}", b"\xff\xfe{}", b"\x00"),
        raw_body(output='"\\ud800"'),
        raw_body(output='"\\udc00 alone"'),
        raw_body(tags='{"\\ud83d":"x"}'),
        raw_body(output='""').replace(b'""', b'"\xff\xfe"'),
        raw_body(output='"\x00"'),
        *(raw_body(evaluated_model_params=f'{{"x":{number}}}') for number in ("NaN", "Infinity", "-Infinity", "01")),
        raw_body(unknown="[" * 100_000 + "]" * 100_000),
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
    ids=lambda body: repr(body[:24]) if len(body) < 1000 else f"deep {body[:12]!r}",
)
@pytest.mark.parametrize("path", ["/v1/evaluate", "/v1/evaluations/search", "/v1/evaluator-criteria"])
def test_it_refuses_what_is_not_json(alice: Caller, body: bytes, path: str) -> None:
    assert_problem(alice.post(path, raw=body), "malformed_json")


def test_no_body_is_an_empty_one(alice: Caller) -> None:
    assert_problem(alice.post("/v1/evaluate", raw=b""), "malformed_json")
    assert_problem(alice.post("/v1/evaluator-criteria", raw=b""), "validation_failed", "/config")
    assert alice.post("/v1/evaluations/search", raw=b"").status_code == 200


@pytest.mark.parametrize("path", ["/v1/evaluate", "/v1/evaluations/search"])
def test_it_survives_a_hundred_thousand_brackets(alice: Caller, path: str) -> None:
    assert alice.post(path, raw=b"[" * 100_000 + b"]" * 100_000).status_code in (400, 422)


@pytest.mark.parametrize("body", [b"[]", b"null", b"1", b'"text"', b"true", b'[{"evaluators":[]}]'])
@pytest.mark.parametrize("path", ["/v1/evaluate", "/v1/evaluations/search", "/v1/evaluator-criteria"])
def test_it_wants_an_object(alice: Caller, body: bytes, path: str) -> None:
    assert_problem(alice.post(path, raw=body), "validation_failed", "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("evaluated_model_id", "1" * 30),
        ("evaluated_model_id", f"-{2**63 + 1}"),
        ("evaluated_model_params", '{"x":' + "9" * 30 + "}"),
        ("evaluated_model_params", '{"x":' + "9" * 5000 + "}"),
        ("evaluated_model_params", '{"x":1e999}'),
        ("dataset_id", "9" * 5000),
        ("dataset_sample_id", "1" * 400),
        ("experiment_id", str(2**63)),
        ("experiment_id", "-1"),
        ("experiment_id", '"12a"'),
        ("experiment_id", '"\uff11\uff12"'),
        ("experiment_id", '""'),
    ],
)
def test_it_refuses_numbers_that_nothing_holds(alice: Caller, name: str, text: str) -> None:
    body = raw_body(**{name: text}) if name != "experiment_id" else raw_body(experiment_id=text, app="null")
    problem = assert_problem(alice.post("/v1/evaluate", raw=body), "validation_failed")

    assert problem["errors"][0]["pointer"].startswith(f"/{name}")
    assert n_stored(alice) == 0


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"task_context": ["c"] * 51}, "/task_context"),
        ({"task_context": [{"id": str(i)} for i in range(100_000)]}, "/task_context"),
        ({"gold_context": {str(i): 1 for i in range(51)}}, "/gold_context"),
        ({"gold_context": [{"id": "a"}, {"id": "b", "relevance": 1e300}]}, "/gold_context/1/relevance"),
        ({"gold_context": {"a": -1e300}}, "/gold_context/0/relevance"),
        ({"gold_answers": ["a"] * 1_001, "label": None}, "/gold_answers"),
        ({"gold_answers": ["x" * 240_001, "y" * 240_000], "label": None}, ""),
        ({"task_context": [{"text": "a", "metadata": {"k": "x" * 480_000}}]}, ""),
        ({"task_context": [{"text": "a", "id": "x" * 480_000}]}, ""),
        ({"system_prompt": {"a": "x" * 480_000, "b": 1}}, ""),
        ({"evaluated_model_retrieved_context": ["c"] * 51}, "/evaluated_model_retrieved_context"),
        ({"output": "x" * 480_001, "label": None}, ""),
        ({"task_context": ["x" * 240_000, "y" * 240_001], "output": "", "label": None}, ""),
        ({"system_prompt": "x" * 480_001}, ""),
        ({"app": ""}, "/app"),
        ({"app": "x"}, "/app"),
        ({"app": "x" * 51}, "/app"),
        ({"experiment_id": "12"}, "/app"),
        ({"project_name": ""}, "/project_name"),
        ({"project_name": "x" * 51}, "/project_name"),
        ({"project_id": "not-a-uuid"}, "/project_id"),
        ({"log_id": "x" * 256}, "/log_id"),
        ({"dataset_sample_id": "x" * 256}, "/dataset_sample_id"),
        ({"tags": {f"k{i}": "" for i in range(101)}}, "/tags"),
        ({"capture": "some"}, "/capture"),
        ({"explain": "sometimes"}, "/explain"),
        ({"confidence_interval_strategy": "guess"}, "/confidence_interval_strategy"),
        ({"evaluators": [{"evaluator": ""}]}, "/evaluators/0/evaluator"),
        ({"evaluators": [{"evaluator": "pii", "criteria": ""}]}, "/evaluators/0/criteria"),
        ({"evaluators": [{"evaluator": "pii"}, {"evaluator": "x" * 101}]}, "/evaluators/1/evaluator"),
        ({"evaluators": [{"evaluator": "pii", "profile_name": "x" * 121}]}, "/evaluators/0/profile_name"),
    ],
)
def test_it_points_at_what_is_out_of_bounds(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    assert_problem(alice.post("/v1/evaluate", GOOD | fields), "validation_failed", pointer)
    assert n_stored(alice) == 0


def test_it_names_every_mistake_at_once(alice: Caller) -> None:
    body = {"evaluators": [{}], "capture": "all", "app": "x", "log_id": "x" * 300}
    problem = assert_problem(alice.post("/v1/evaluate", body), "validation_failed")

    pointers = {error["pointer"] for error in problem["errors"]}
    assert pointers == {"/evaluators/0/evaluator", "/evaluated_model_output", "/app", "/log_id"}


def test_it_takes_the_largest_sample(alice: Caller) -> None:
    body = {"evaluators": [{"evaluator": "nobody"}], "output": "x" * 479_950, "task_context": ["c"] * 50}

    assert alice.post("/v1/evaluate", body).status_code == 200


def test_the_last_of_two_equal_keys_counts(alice: Caller) -> None:
    body = b'{"evaluators":[{"evaluator":"exact-match"}],"output":"Rome","output":"Paris","label":"Paris"}'

    assert alice.post("/v1/evaluate", raw=body).json()["results"][0]["evaluation_result"]["pass"] is True


def test_it_takes_any_text_that_is_text(alice: Caller) -> None:
    odd = "\U0001f4a9\u202e\ufffe\x7f\x01 ' OR 1=1; --"
    app = "\U0001f4a9 ' OR 1=1; --"  # a name holds nothing that nobody sees
    answer = alice.post("/v1/evaluate", GOOD | {"output": odd, "label": odd, "app": app, "tags": {odd: odd}})

    result = answer.json()["results"][0]["evaluation_result"]
    assert (result["evaluated_model_output"], result["app"], result["tags"]) == (odd, app, {odd: odd})
    stored = alice.get(f"/v1/evaluations/{result['id']}").json()["evaluation"]
    assert (stored["app"], stored["tags"]) == (app, {odd: odd})


def test_it_ignores_fields_it_does_not_know(alice: Caller) -> None:
    assert alice.post("/v1/evaluate", GOOD | {"unheard_of": [1]}).status_code == 200
    assert alice.post("/v1/evaluations/search", {"unheard_of": [1]}).status_code == 200
    assert alice.get("/v1/evaluator-criteria?unheard_of=1").status_code == 200


@pytest.mark.parametrize("path", ["/v1/evaluate", "/v1/evaluations/search", "/v1/evaluator-criteria"])
def test_it_refuses_ten_megabytes(alice: Caller, path: str) -> None:
    assert_problem(alice.post(path, raw=b'{"output":"' + b"x" * 10_000_000 + b'"}'), "body_too_large")


def chunked(caller: Caller, path: str, body: bytes) -> Any:
    """Send a body whose length nobody announced, as a server hands it over."""
    extra: dict[str, Any] = {
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
        "HTTP_TRANSFER_ENCODING": "chunked",
    }
    client = Client(raise_request_exception=False)
    return client.generic("POST", path, content_type="application/json", HTTP_X_API_KEY=caller.key, **extra)


@pytest.mark.parametrize("path", ["/v1/evaluate", "/v1/evaluations/search", "/v1/evaluator-criteria"])
def test_it_refuses_ten_megabytes_in_chunks(alice: Caller, path: str) -> None:
    assert_problem(chunked(alice, path, b'{"output":"' + b"x" * 10_000_000 + b'"}'), "body_too_large")


def test_it_reads_bodies_in_chunks(alice: Caller) -> None:
    assert chunked(alice, "/v1/evaluate", json.dumps(GOOD).encode()).json()["results"][0]["status"] == "success"
    nothing = {"filters": [{"field": "app", "value": "nowhere"}]}
    assert chunked(alice, "/v1/evaluations/search", json.dumps(nothing).encode()).json()["evaluations"] == []


def test_it_refuses_a_length_that_is_no_number(alice: Caller) -> None:
    client = Client(raise_request_exception=False)
    answer = client.generic("POST", "/v1/evaluate", b"{}", HTTP_X_API_KEY=alice.key, CONTENT_LENGTH="abc")

    assert_problem(answer, "bad_request")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "x"])
def test_the_content_type_does_not_matter(alice: Caller, kind: str) -> None:
    client = Client(raise_request_exception=False)
    for path in ("/v1/evaluate", "/v1/evaluations/search"):
        answer = client.generic("POST", path, json.dumps(GOOD), content_type=kind, HTTP_X_API_KEY=alice.key)
        assert answer.status_code == 200
        answer = client.generic("POST", path, "a=b&c=d", content_type=kind, HTTP_X_API_KEY=alice.key)
        assert_problem(answer, "malformed_json")
