"""`fine_tuning.alpha.graders`: one grader, checked and run."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import OpenAI

from benchmarks.stub_llm import RunningStub
from tests.conftest import Caller
from tests.factories import make_connection
from tests.openai_evals.shapes import NUMBER, SAME

NEAR: Any = {
    "type": "text_similarity",
    "name": "near",
    "evaluation_metric": "fuzzy_match",
    "input": "{{sample.output_text}}",
    "reference": "{{item.category}}",
}
PARTS = [{**SAME, "name": "same"}, {**NUMBER, "name": "number"}]


def run(client: OpenAI, grader: Any, output: str = "abce", **item: Any) -> Any:
    return client.fine_tuning.alpha.graders.run(grader=grader, model_sample=output, item={"category": "abcd", **item})


def test_a_grader_is_run(client: OpenAI) -> None:
    graded = run(client, NEAR)
    assert (graded.reward, graded.sub_rewards, graded.model_grader_token_usage_per_model) == (0.75, {}, {})
    assert (graded.metadata.name, graded.metadata.type, graded.metadata.scores) == (
        "near",
        "text_similarity",
        {"near": 0.75},
    )
    errors = graded.metadata.errors.to_dict()
    assert (len(errors), any(errors.values())) == (11, False)
    assert run(client, SAME, "abcd").reward == 1.0


@pytest.mark.parametrize("graders", [PARTS, {part["name"]: part for part in PARTS}])
def test_multi_takes_a_list_and_an_object(client: OpenAI, graders: Any) -> None:
    multi = {"type": "multi", "name": "m", "graders": graders, "calculate_output": "(same + number) / 4"}
    graded = run(client, multi, "abcd", n=7)
    assert (graded.reward, graded.sub_rewards) == (0.5, {"same": 1.0, "number": 1.0})


def test_multi_takes_one_grader(client: OpenAI) -> None:
    multi = {"type": "multi", "name": "m", "graders": {**NEAR, "name": "near"}, "calculate_output": "near"}
    assert run(client, multi).reward == 0.75


def test_an_error_has_no_reward(client: OpenAI) -> None:
    graded = run(client, NUMBER)
    assert graded.reward is None
    assert graded.metadata.errors.invalid_variable_error


def test_a_model_is_asked(client: OpenAI, alice: Caller, stub: RunningStub) -> None:
    make_connection(alice, stub.base_url, model="stub-judge-0.7")
    messages = [{"role": "user", "content": "Grade {{sample.output_text}}."}]
    graded = run(
        client, {"type": "score_model", "name": "s", "model": "stub-judge-0.7", "range": [0, 10], "input": messages}
    )
    assert graded.reward == 7.0
    assert list(graded.model_grader_token_usage_per_model) == ["stub-judge-0.7"]
    labels: Any = {"labels": ["good", "bad"], "passing_labels": ["good"]}
    label = {"type": "label_model", "name": "l", "model": "stub-judge-pass", "input": messages, **labels}
    assert run(client, label).reward == 1.0


def test_a_grader_is_checked(client: OpenAI) -> None:
    found = client.fine_tuning.alpha.graders.validate(grader=NEAR)
    assert found.grader is not None
    assert found.grader.to_dict() == NEAR


@pytest.mark.parametrize(
    ("grader", "param"),
    [
        (None, "grader"),
        ({"type": "python", "name": "p", "source": "x"}, "grader.type"),
        ({**SAME, "operation": "has"}, "grader.operation"),
        ({**NEAR, "evaluation_metric": "meteor"}, "grader.evaluation_metric"),
        ({"type": "multi", "name": "m", "graders": PARTS, "calculate_output": "same +"}, "grader.calculate_output"),
        ({"type": "multi", "name": "m", "graders": [{"type": "x"}], "calculate_output": "1"}, "grader.graders[0].type"),
        ({"type": "score_model", "name": "s", "model": "none", "input": []}, "grader.model"),
    ],
)
def test_what_cannot_be_run_is_400(client: OpenAI, grader: Any, param: str) -> None:
    for call in (lambda: client.fine_tuning.alpha.graders.validate(grader=grader), lambda: run(client, grader)):
        with pytest.raises(openai.BadRequestError) as refusal:
            call()
        assert refusal.value.param == param


def test_a_key_that_reads_runs_nothing(reader: OpenAI) -> None:
    with pytest.raises(openai.PermissionDeniedError):
        run(reader, NEAR)
