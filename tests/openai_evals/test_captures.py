"""Runs over captured evaluations: `logs` and `stored_completions`, selected by tags, time and number."""

from __future__ import annotations

import json
import time
from typing import Any

import openai
import pytest
from openai import OpenAI

from benchmarks.stub_llm import RunningStub
from tests.conftest import Caller
from tests.experiments.conftest import finish
from tests.factories import make_connection
from tests.openai_evals.shapes import make_eval

CHECK: dict[str, Any] = {
    "type": "string_check",
    "name": "Right",
    "operation": "eq",
    "input": "{{sample.output_text}}",
    "reference": "{{item.reference}}",
}


def capture(caller: Caller, output: str, **fields: Any) -> None:
    """Capture a sample that two evaluators have looked at."""
    texts = {"evaluated_model_input": "q", "evaluated_model_output": output, "evaluated_model_gold_answer": "yes"}
    assert caller.evaluate("exact-match", "exact-match-normalised", app="shop", **(texts | fields)).status_code == 200


def make_stored(client: OpenAI, kind: str = "logs", **metadata: str) -> Any:
    config: Any = {"type": kind, "metadata": metadata}
    return client.evals.create(data_source_config=config, testing_criteria=[CHECK])  # type: ignore[list-item]


def make_run(client: OpenAI, eval_id: str, kind: str = "completions", **fields: Any) -> Any:
    source: Any = {"type": kind, "source": {"type": "stored_completions"} | fields}
    return client.evals.runs.create(eval_id, data_source=source)


@pytest.mark.parametrize("kind", ["logs", "stored_completions"])
def test_captured_samples_are_graded_once_each(client: OpenAI, alice: Caller, charlie: Caller, kind: str) -> None:
    for n, output in enumerate(("yes", "no", "yes")):
        capture(alice, output, tags={"team": "a", "n": str(n)}, evaluated_model_system_prompt="s")
    capture(alice, "no", tags={"team": "b"})
    capture(charlie, "no", tags={"team": "a"})
    made = make_stored(client, kind, team="a")

    config: Any = made.to_dict()["data_source_config"]
    assert (config["type"], config["metadata"]) == (kind, {"team": "a"})
    assert config["schema"]["required"] == ["item", "sample"]
    run = make_run(client, made.id)
    assert run.status == "completed"
    assert run.result_counts.to_dict() == {"total": 3, "passed": 2, "failed": 1, "errored": 0}
    first, second, _ = client.evals.runs.output_items.list(run.id, eval_id=made.id)
    assert first.datasource_item == {
        "input": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],
        "metadata": {"team": "a", "n": "0"},
        "reference": "yes",
    }
    assert (first.sample.output[0].content, second.sample.output[0].content) == ("yes", "no")
    assert make_run(client, made.id, metadata={"n": "1"}).result_counts.total == 1


def test_the_newest_are_taken_and_times_narrow_them(client: OpenAI, alice: Caller) -> None:
    for n in range(4):
        capture(alice, "yes", tags={"model": "m" if n % 2 else "other", "n": str(n)})
    made, now = make_stored(client), int(time.time())

    def taken(**fields: Any) -> list[Any]:
        run = make_run(client, made.id, **fields)
        items = client.evals.runs.output_items.list(run.id, eval_id=made.id)
        return [json.loads(json.dumps(item.datasource_item))["metadata"]["n"] for item in items]

    assert taken(limit=2) == ["2", "3"]
    assert taken(model="m") == ["1", "3"]
    assert taken(created_after=now - 3600, created_before=now + 3600) == ["0", "1", "2", "3"]
    with pytest.raises(openai.BadRequestError) as refusal:
        taken(created_after=now + 3600)
    assert refusal.value.param == "data_source.source"


def test_a_model_is_asked_what_was_captured(client: OpenAI, alice: Caller, stub: RunningStub) -> None:
    make_connection(alice, stub.base_url)
    capture(alice, "no", evaluated_model_input=json.dumps([{"role": "user", "content": "yes"}]))
    made = make_stored(client)
    messages: Any = {"type": "item_reference", "item_reference": "item.input"}
    source: Any = {
        "type": "responses",
        "source": {"type": "responses", "limit": 5},
        "model": "stub-echo",
        "input_messages": messages,
    }
    run: Any = client.evals.runs.create(made.id, data_source=source)

    finish(alice, run.model_extra["evalsvc"]["experiment_id"])
    assert client.evals.runs.retrieve(run.id, eval_id=made.id).result_counts.passed == 1


def test_strangers_find_nothing(client: OpenAI, stranger: OpenAI, alice: Caller) -> None:
    capture(alice, "yes", tags={"team": "a"})
    with pytest.raises(openai.BadRequestError) as refusal:
        make_run(stranger, make_stored(stranger, team="a").id)
    assert refusal.value.param == "data_source.source"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"metadata": {"a": 1}}, "data_source.source.metadata"),
        ({"metadata": "a"}, "data_source.source.metadata"),
        ({"model": 1}, "data_source.source.model"),
        ({"limit": 0}, "data_source.source.limit"),
        ({"limit": True}, "data_source.source.limit"),
        ({"created_after": "x"}, "data_source.source.created_after"),
        ({"created_before": 2**60}, "data_source.source.created_before"),
        ({"has_tool_calls": True}, "data_source.source.has_tool_calls"),
        ({"type": "responses"}, "data_source.source.type"),
    ],
)
def test_bad_filters_are_400(client: OpenAI, alice: Caller, fields: Any, param: str) -> None:
    capture(alice, "yes")
    made = make_stored(client)
    with pytest.raises(openai.BadRequestError) as refusal:
        make_run(client, made.id, **fields)
    assert refusal.value.param == param
    assert list(client.evals.runs.list(made.id)) == []


def test_bad_filters_of_an_eval_are_400(client: OpenAI) -> None:
    config: Any = {"type": "logs", "metadata": {"a": 1}}
    with pytest.raises(openai.BadRequestError) as refusal:
        client.evals.create(data_source_config=config, testing_criteria=[CHECK])  # type: ignore[list-item]
    assert refusal.value.param == "data_source_config.metadata"


def test_rows_of_a_file_are_held_to_the_schema_still(client: OpenAI, alice: Caller) -> None:
    capture(alice, "yes")
    made = make_eval(client, CHECK)
    with pytest.raises(openai.BadRequestError) as refusal:
        make_run(client, made.id)
    assert refusal.value.param == "data_source.source.content[0].item"
