"""Runs that ask a model, as the sample or as the grader: a scripted endpoint answers, and units run in the test."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from openai import OpenAI

from benchmarks.stub_llm import RunningStub
from tests.conftest import Caller
from tests.experiments.conftest import finish, run_units
from tests.factories import make_connection
from tests.openai_evals.shapes import SAME, make_eval, make_run, row

ROWS = [row("a", None, x={"y": ["a", "b"]}), row("c", None, x={"y": ["b", "a"]})]
PROMPT: Any = {
    "type": "template",
    "template": [
        {"role": "developer", "content": "Repeat."},
        {"role": "user", "content": {"type": "input_text", "text": "{{ item.x.y[0] }}"}},
    ],
}


IMAGE = {"type": "input_image", "image_url": "https://example.com/{{item.category}}.png", "detail": "low"}


def make_asking_run(client: OpenAI, eval_id: str, kind: str = "completions", **fields: Any) -> Any:
    content: Any = {"type": "file_content", "content": ROWS}
    source: Any = {"type": kind, "source": content, "model": "stub-echo", "input_messages": PROMPT} | fields
    return client.evals.runs.create(eval_id, data_source=source)


@pytest.mark.parametrize("kind", ["completions", "responses"])
def test_a_model_is_asked_for_each_row(client: OpenAI, alice: Caller, stub: RunningStub, kind: str) -> None:
    make_connection(alice, stub.base_url)
    made = make_eval(client)
    sampling = {"temperature": 0.5, "max_completions_tokens": 64, "seed": 7}
    run = make_asking_run(client, made.id, kind, sampling_params=sampling)

    assert (run.status, run.model, run.result_counts.total) == ("queued", "stub-echo", 0)
    assert list(client.evals.runs.output_items.list(run.id, eval_id=made.id)) == []
    finish(alice, run.model_extra["evalsvc"]["experiment_id"])
    run = client.evals.runs.retrieve(run.id, eval_id=made.id)
    assert (run.status, run.result_counts.to_dict()) == (
        "completed",
        {"total": 2, "passed": 1, "failed": 1, "errored": 0},
    )
    usage: Any = run.per_model_usage[0].to_dict()
    assert (usage["model_name"], usage["invocation_count"]) == ("stub-echo", 2)
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    first, second = client.evals.runs.output_items.list(run.id, eval_id=made.id)
    assert [message.to_dict() for message in first.sample.input] == [
        {"role": "developer", "content": "Repeat."},
        {"role": "user", "content": "a"},
    ]
    assert (first.sample.output[0].content, second.sample.output[0].content) == ("a", "b")
    assert (first.sample.model, first.sample.finish_reason) == ("stub-echo", "stop")
    assert (first.sample.temperature, first.sample.max_completion_tokens, first.sample.seed) == (0.5, 64, 7)


def test_messages_come_from_a_column(client: OpenAI, alice: Caller, stub: RunningStub) -> None:
    """Texts of a row are data: braces in them stay."""
    make_connection(alice, stub.base_url)
    made = make_eval(client, schema={"type": "object"})
    parts = [{"type": "input_text", "text": "{{item.category}}"}, {"type": "text", "text": "b"}]
    turns = [{"role": "system", "content": "s"}, {"role": "user", "content": parts}]
    content: Any = {
        "type": "file_content",
        "content": [row("a", None, talk={"turns": turns}), row("a", None, talk={"turns": "a"})],
    }
    messages: Any = {"type": "item_reference", "item_reference": "item.talk.turns"}
    run = make_asking_run(client, made.id, source=content, input_messages=messages)

    finish(alice, run.model_extra["evalsvc"]["experiment_id"])
    items = list(client.evals.runs.output_items.list(run.id, eval_id=made.id))
    assert [[message.to_dict() for message in item.sample.input] for item in items] == [
        [{"role": "system", "content": "s"}, {"role": "user", "content": "{{item.category}}\nb"}],
        [{"role": "user", "content": "a"}],
    ]
    assert [item.sample.output[0].content for item in items] == ["{{item.category}}\nb", "a"]
    assert [item.status for item in items] == ["fail", "pass"]


def test_pictures_go_to_a_connection_that_sees(client: OpenAI, alice: Caller, stub: RunningStub) -> None:
    make_connection(alice, stub.base_url, sees_images=True)
    made = make_eval(client)
    text = {"type": "input_text", "text": "What is it?"}
    messages: Any = {"type": "template", "template": [{"role": "user", "content": [text, IMAGE]}]}
    run = make_asking_run(client, made.id, input_messages=messages)

    finish(alice, run.model_extra["evalsvc"]["experiment_id"])
    (config,) = alice.get(f"/v1/experiments/{run.model_extra['evalsvc']['experiment_id']}").json()["experiment"][
        "configs"
    ]
    assert config["parameters"]["messages"][0]["content"] == [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "https://example.com/{{input.category}}.png", "detail": "low"}},
    ]
    first, _ = client.evals.runs.output_items.list(run.id, eval_id=made.id)
    assert first.sample.input[0].content == "What is it?\n[image_url]"


@pytest.mark.parametrize("path", ["/cancel", ""])
def test_a_run_is_canceled_at_both_addresses(client: OpenAI, alice: Caller, stub: RunningStub, path: str) -> None:
    make_connection(alice, stub.base_url)
    made = make_eval(client)
    run = make_asking_run(client, made.id)

    assert client.post(f"/evals/{made.id}/runs/{run.id}{path}", cast_to=dict)["status"] == "canceled"
    assert [row.id for row in client.evals.runs.list(made.id, status="canceled")] == [run.id]
    assert list(client.evals.runs.list(made.id, status="queued")) == []


def test_an_answer_that_never_comes_is_an_error_of_the_item(client: OpenAI, alice: Caller, stub: RunningStub) -> None:
    make_connection(alice, stub.base_url)
    made = make_eval(client)
    run = make_asking_run(client, made.id, model="stub-context")

    run_units()
    run = client.evals.runs.retrieve(run.id, eval_id=made.id)
    assert (run.status, run.error.code) == ("failed", "error")
    assert run.result_counts.to_dict() == {"total": 2, "passed": 0, "failed": 0, "errored": 2}
    first, _ = client.evals.runs.output_items.list(run.id, eval_id=made.id)
    assert (first.status, first.results[0].score, first.results[0].passed) == ("error", None, None)
    assert first.sample.error.code
    assert first.sample.output == []


def test_samples_that_are_there_are_graded_without_a_model(client: OpenAI) -> None:
    made = make_eval(client)
    source: Any = {"type": "responses", "source": {"type": "file_content", "content": [row("a", "a")]}}
    run = client.evals.runs.create(made.id, data_source=source)
    assert (run.status, run.model, run.result_counts.passed) == ("completed", "", 1)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        (
            {"input_messages": {"type": "item_reference", "item_reference": "item.x"}},
            "data_source.source.content[0].item",
        ),
        (
            {"input_messages": {"type": "item_reference", "item_reference": "sample.x"}},
            "data_source.input_messages.item_reference",
        ),
        ({"input_messages": {"type": "prompt"}}, "data_source.input_messages.type"),
        ({"input_messages": None}, "data_source.input_messages"),
        ({"sampling_params": {"tools": [{"type": "function"}]}}, "data_source.sampling_params.tools[0]"),
        ({"sampling_params": {"temperature": "hot"}}, "data_source.sampling_params.temperature"),
        (
            {
                "input_messages": {
                    "type": "template",
                    "template": [{"role": "user", "content": "{{sample.output_text}}"}],
                }
            },
            "data_source.input_messages.template[0].content",
        ),
        (
            {
                "input_messages": {
                    "type": "template",
                    "template": [{"role": "user", "content": {"type": "input_image"}}],
                }
            },
            "data_source.input_messages.template[0].content",
        ),
        (
            {"input_messages": {"type": "template", "template": [{"role": "user", "content": IMAGE}]}},
            "data_source.input_messages.template",
        ),
    ],
)
def test_what_cannot_be_asked_is_400(client: OpenAI, alice: Caller, stub: RunningStub, fields: Any, param: str) -> None:
    make_connection(alice, stub.base_url)
    made = make_eval(client)
    with pytest.raises(openai.BadRequestError) as refusal:
        make_asking_run(client, made.id, **fields)
    assert refusal.value.param == param
    assert list(client.evals.runs.list(made.id)) == []


def test_a_model_that_no_connection_has_is_400(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refusal:
        make_asking_run(client, make_eval(client, SAME).id)
    assert refusal.value.param == "data_source.model"


def test_graders_that_ask_a_model_grade_later(client: OpenAI, alice: Caller, stub: RunningStub) -> None:
    make_connection(alice, stub.base_url, model="stub-judge-0.7")
    messages = [{"role": "user", "content": "Grade {{sample.output_text}} for {{item.category}}."}]
    asking = {"model": "stub-judge-0.7", "input": messages, "sampling_params": {"max_completions_tokens": 64}}
    scale = {"type": "score_model", "name": "scale", "range": [0, 10], "pass_threshold": 5, **asking}
    made = make_eval(client, scale, SAME)
    content: Any = {"type": "file_content", "content": [row("a", "a"), row("a", "b")]}
    run: Any = client.evals.runs.create(made.id, data_source={"type": "jsonl", "source": content})

    assert run.status == "in_progress"
    finish(alice, run.model_extra["evalsvc"]["experiment_id"])
    run = client.evals.runs.retrieve(run.id, eval_id=made.id)
    assert (run.status, run.model) == ("completed", "")
    assert run.result_counts.to_dict() == {"total": 2, "passed": 1, "failed": 1, "errored": 0}
    usage: Any = run.per_model_usage[0].to_dict()
    assert (usage["model_name"], usage["invocation_count"]) == ("stub-judge-0.7", 2)
    first, _ = client.evals.runs.output_items.list(run.id, eval_id=made.id)
    item: Any = first.to_dict()
    graded = item["results"][0]
    assert (graded["score"], graded["passed"]) == (7.0, True)
    answer: Any = json.loads(graded["sample"]["output"][0]["content"])
    assert answer["result"] == 7.0
    assert [sorted(step) for step in answer["steps"]] == [["conclusion", "description"]]
    assert answer["steps"][0]["description"]
    assert graded["sample"]["input"] == [{"role": "user", "content": "Grade a for a."}]
    assert (graded["sample"]["model"], graded["sample"]["max_completion_tokens"]) == ("stub-judge-0.7", 64)


def test_a_label_is_the_result_of_its_grader(client: OpenAI, alice: Caller, stub: RunningStub) -> None:
    make_connection(alice, stub.base_url)
    messages = [{"role": "user", "content": [{"type": "input_text", "text": "Label {{item.category}}."}]}]
    labels = {"labels": ["good", "bad"], "passing_labels": ["good"]}
    made = make_eval(
        client, {"type": "label_model", "name": "l", "model": "stub-judge-pass", "input": messages, **labels}
    )
    run = make_run(client, made.id, [row("a", "a")])

    finish(alice, run.model_extra["evalsvc"]["experiment_id"])
    (found,) = client.evals.runs.output_items.list(run.id, eval_id=made.id)
    item: Any = found.to_dict()
    (graded,) = item["results"]
    assert (graded["score"], graded["passed"]) == (1.0, True)
    assert json.loads(graded["sample"]["output"][0]["content"])["result"] == "good"
    assert graded["sample"]["input"] == [{"role": "user", "content": "Label a."}]
