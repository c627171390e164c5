"""Criteria as OpenAI's client hands back those of the hosted service: each is a profile here, or refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from openai import OpenAI
from openai.types import EvalRetrieveResponse

from benchmarks.stub_llm import RunningStub
from tests.caller import Caller
from tests.factories import make_connection

TEMPLATES = {"input": "{{sample.output_text}}", "reference": "{{item.reference}}"}
ASKING = {
    "input": [
        {"type": "message", "role": "developer", "content": {"type": "input_text", "text": "Grade the answer."}},
        {"type": "message", "role": "user", "content": {"type": "input_text", "text": "{{sample.output_text}}"}},
    ],
    "model": "stub-judge-0.7",
}
HOSTED: dict[str, dict[str, Any]] = {
    "string_check": {**TEMPLATES, "operation": "ilike"},
    "text_similarity": {**TEMPLATES, "evaluation_metric": "fuzzy_match", "pass_threshold": 0.5},
    "score_model": {**ASKING, "range": [0, 10], "pass_threshold": 5, "sampling_params": {"temperature": 0, "seed": 1}},
    "label_model": {**ASKING, "model": "stub-judge-pass", "labels": ["good", "bad"], "passing_labels": ["good"]},
    "python": {"source": "def grade(sample, item): return 1", "image_tag": "2025-05-08"},
    "multi": {"graders": {"same": {"type": "string_check", "name": "same", **TEMPLATES, "operation": "eq"}},
              "calculate_output": "same"},
}  # fmt: skip
SCORES = {"string_check": 1.0, "text_similarity": 1.0, "score_model": 0.7, "label_model": 1.0, "multi": 1.0}
DUMPS: dict[str, Callable[[Any], Any]] = {
    "to_dict": lambda fetched: fetched.to_dict(),
    "to_dict, unset ones too": lambda fetched: fetched.to_dict(exclude_unset=False),
    "model_dump": lambda fetched: fetched.model_dump(),
    "model_dump as JSON": lambda fetched: fetched.model_dump(mode="json"),
    "to_json": lambda fetched: json.loads(fetched.to_json()),
    "model_dump_json": lambda fetched: json.loads(fetched.model_dump_json(by_alias=True)),
}


@pytest.fixture(scope="module")
def fetched() -> EvalRetrieveResponse:
    """An eval, as the hosted service answers it: each criterion has an id, and what was not sent is null."""
    criteria = [
        {"id": f"{name}-5f2a", "type": name, "name": name, "pass_threshold": None, **fields}
        for name, fields in HOSTED.items()
    ]
    body = {
        "object": "eval", "id": "eval_67abd54d9b0081909a86353f6fb9317a", "name": "Capitals", "created_at": 1739314509,
        "metadata": {}, "testing_criteria": criteria,
        "data_source_config": {"type": "custom", "schema": {"type": "object", "properties": {"item": {}}}},
    }  # fmt: skip
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=body))
    with OpenAI(base_url="http://hosted/v1", api_key="k", http_client=httpx2.Client(transport=transport)) as client:
        return client.evals.retrieve("eval_67abd54d9b0081909a86353f6fb9317a")


@pytest.mark.parametrize("dump", DUMPS)
def test_each_type_is_run_or_refused_by_name(
    dump: str, fetched: EvalRetrieveResponse, alice: Caller, stub: RunningStub
) -> None:
    make_connection(alice, stub.base_url, model="stub-judge-0.7")
    for criterion in fetched.testing_criteria:
        config = DUMPS[dump](criterion)
        body = {"evaluator_family": "custom", "name": config["name"], "config": config}
        answer = alice.post("/v1/evaluator-criteria", body)
        if config["type"] == "python":
            assert answer.status_code == 422
            assert answer.json()["errors"][0]["pointer"] == "/config/type"
            continue
        assert answer.status_code == 200, (config, answer.json())
        if "model" in config:
            # A judge has its own lane: that it is asked is shown in test_graders.
            continue
        evaluators = [{"evaluator": "custom", "criteria": config["name"]}]
        sample = {"evaluated_model_output": "Oslo", "evaluated_model_gold_answer": "Oslo"}
        (result,) = alice.post("/v1/evaluate", {"evaluators": evaluators, **sample}).json()["results"]
        assert result["evaluation_result"]["score_raw"] == SCORES[config["type"]]


@pytest.mark.parametrize("dump", DUMPS)
def test_each_model_grader_is_asked_as_it_was(
    dump: str, fetched: EvalRetrieveResponse, client: OpenAI, alice: Caller, stub: RunningStub
) -> None:
    make_connection(alice, stub.base_url, model="stub-judge-0.7")
    for criterion in fetched.testing_criteria:
        if criterion.type not in ("score_model", "label_model"):
            continue
        graded = client.fine_tuning.alpha.graders.run(
            grader=DUMPS[dump](criterion), model_sample="Oslo", item={"reference": "Oslo"}
        )
        # A score model's reward is in its own units.
        assert graded.reward == {"score_model": 7.0, "label_model": 1.0}[criterion.type]
