"""Tools that a model calls: in samples that are sent, and in answers of models that are asked."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import OpenAI

from benchmarks.stub_llm import RunningStub
from tests.conftest import Caller
from tests.experiments.conftest import finish
from tests.factories import make_connection
from tests.openai_evals.shapes import SAME, make_eval, make_run

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Oslo", "days": [2]}'},
}
PARAMETERS = {"type": "object", "properties": {"question": {"type": "string"}}}
NAME = SAME | {"name": "Name", "input": "{{sample.output_tools[0].function.name}}", "reference": "weather"}
CITY = SAME | {"name": "City", "input": "{{ sample.output_tools[0].function.arguments.city }}"}
DAYS = SAME | {
    "name": "Days",
    "input": "{{sample.choices[0].message.tool_calls[0].function.arguments.days[0]}}",
    "reference": "2",
}


def list_items(client: OpenAI, eval_id: str, run: Any) -> list[Any]:
    return list(client.evals.runs.output_items.list(run.id, eval_id=eval_id))


def test_calls_in_samples_are_graded(client: OpenAI) -> None:
    """A model that called nothing fails; of a sample that says neither, nothing is known, and that is an error."""
    made = make_eval(client, NAME, CITY, DAYS)
    choices = [{"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}, "finish_reason": "tool_calls"}]
    samples: list[Any] = [
        {"output_tools": [CALL]},
        {"choices": choices},
        {"output_text": "It rains.", "output_tools": []},
        {"output_text": "It rains.", "output_tools": [CALL | {"function": {"name": "time", "arguments": "{"}}]},
        {"output_text": "It rains."},
    ]
    run = make_run(client, made.id, [{"item": {"category": "Oslo"}, "sample": sample} for sample in samples])

    assert run.result_counts.to_dict() == {"total": 5, "passed": 2, "failed": 2, "errored": 1}
    items = list_items(client, made.id, run)
    assert [[result.passed for result in item.results] for item in items] == [
        [True, True, True],
        [True, True, True],
        [False, False, False],
        [False, False, False],
        [None, None, None],
    ]
    sent = [item.sample.output[0].to_dict() for item in items]
    assert sent[0] == sent[1] == {"role": "assistant", "content": "", "tool_calls": [CALL]}
    assert sent[2] == {"role": "assistant", "content": "It rains."}
    assert [item.sample.finish_reason for item in items] == ["tool_calls", "tool_calls", "stop", "tool_calls", "stop"]


@pytest.mark.parametrize("kind", ["completions", "responses"])
def test_a_model_is_offered_tools(client: OpenAI, alice: Caller, stub: RunningStub, kind: str) -> None:
    make_connection(alice, stub.base_url)
    made = make_eval(
        client,
        SAME | {"input": "{{sample.output_tools[0].function.arguments.question}}"},
        SAME | {"name": "Text", "input": "{{sample.output_text}}", "reference": "", "operation": "eq"},
    )
    function = {"name": "find", "description": "Finds it.", "parameters": PARAMETERS, "strict": True}
    tool = {"type": "function", "function": function} if kind == "completions" else {"type": "function", **function}
    messages: Any = {"type": "template", "template": [{"role": "user", "content": "{{item.category}}"}]}
    source: Any = {
        "type": kind,
        "source": {
            "type": "file_content",
            "content": [{"item": {"category": "Where?"}}, {"item": {"category": "Here."}}],
        },
        "model": "stub-calls",
        "input_messages": messages,
        "sampling_params": {"tools": [tool]},
    }
    run: Any = client.evals.runs.create(made.id, data_source=source)

    experiment_id = run.model_extra["evalsvc"]["experiment_id"]
    (config,) = alice.get(f"/v1/experiments/{experiment_id}").json()["experiment"]["configs"]
    assert config["parameters"]["tools"] == [{"type": "function", "function": function}]
    finish(alice, experiment_id)
    called, said = list_items(client, made.id, run)
    assert [result.passed for result in called.results] == [True, True]
    assert (called.sample.finish_reason, called.sample.output[0].content) == ("tool_calls", "")
    assert called.sample.output[0].to_dict()["tool_calls"][0]["function"] == {
        "name": "find",
        "arguments": '{"question":"Where?"}',
    }
    assert [result.passed for result in said.results] == [False, False]
    assert (said.sample.finish_reason, said.sample.output[0].content) == ("stop", "Here.")


@pytest.mark.parametrize(
    ("tools", "param"),
    [
        ({"type": "function"}, "tools"),
        ([{"type": "function", "name": "f"}, {"type": "web_search"}], "tools[1]"),
        ([{"type": "function", "function": {"parameters": {}}}], "tools[0]"),
    ],
)
def test_other_tools_are_refused(client: OpenAI, alice: Caller, stub: RunningStub, tools: Any, param: str) -> None:
    make_connection(alice, stub.base_url)
    made = make_eval(client)
    source: Any = {
        "type": "completions",
        "source": {"type": "file_content", "content": [{"item": {"category": "a"}}]},
        "model": "stub-calls",
        "input_messages": {"type": "template", "template": [{"role": "user", "content": "a"}]},
        "sampling_params": {"tools": tools},
    }

    with pytest.raises(openai.BadRequestError) as refused:
        client.evals.runs.create(made.id, data_source=source)

    assert refused.value.param == f"data_source.sampling_params.{param}"
    assert client.evals.runs.list(made.id).data == []
