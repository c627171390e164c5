"""The stub LLM: known accuracies, shared difficulty, honest books."""

from __future__ import annotations

import json
import uuid

import httpx
import pytest

from benchmarks.stub_llm import RunningStub
from benchmarks.stub_tasks import accuracy_of, answer_to, is_right, seeded_task

A, B = "stub-accuracy-0.70-a", "stub-accuracy-0.70-b"


def ask(stub: RunningStub, model: str, prompt: str, key: str = "k") -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=30, headers={"Authorization": f"Bearer {key}"}) as client:
        sent = {"model": model, "messages": [{"role": "user", "content": prompt}]}
        return client.post(f"{stub.base_url}/chat/completions", json=sent)


def test_a_seed_makes_one_task() -> None:
    assert seeded_task(5, 1) == seeded_task(5, 1)
    assert seeded_task(5, 1) != seeded_task(5, 2)
    assert len({row["task_input"] for row in seeded_task(400, 1)}) == 400


@pytest.mark.parametrize("accuracy", [0.1, 0.5, 0.7, 0.95])
def test_accuracy_is_as_named(accuracy: float) -> None:
    task = seeded_task(4000, 3)

    assert accuracy_of(f"stub-accuracy-{accuracy}-a", task) == pytest.approx(accuracy, abs=0.03)


def test_the_ends_are_exact() -> None:
    task = seeded_task(100, 3)

    assert accuracy_of("stub-accuracy-1.0-a", task) == 1
    assert accuracy_of("stub-accuracy-0.0-a", task) == 0


def test_models_share_the_difficulty() -> None:
    questions = [row["task_input"] for row in seeded_task(4000, 3)]
    both = sum(is_right(A, question) and is_right(B, question) for question in questions) / len(questions)

    assert 0.49 + 0.03 < both < 0.70 - 0.03


def test_latency_does_not_change_the_answer() -> None:
    assert all(is_right(A, row["task_input"]) == is_right(f"{A}@20", row["task_input"]) for row in seeded_task(200, 3))


def test_the_server_answers_as_the_task_says(stub: RunningStub) -> None:
    for row in seeded_task(10, 4):
        answer = ask(stub, A, f"Answer with the number.\n{row['task_input']}\n").json()
        assert answer["choices"][0]["message"]["content"] == answer_to(A, row["task_input"])


def test_it_counts_by_model_key_and_prompt(stub: RunningStub) -> None:
    prompt, key = f"Hello {uuid.uuid4()}", uuid.uuid4().hex
    for _ in range(3):
        ask(stub, "stub-echo", prompt, key)

    calls = stub.calls()
    assert calls["by_key"][key] == 3
    assert [row["calls"] for row in calls["prompts"] if row["prompt"] == prompt] == [3]


def test_it_changes_its_mind_after_a_429(stub: RunningStub) -> None:
    prompt = f"Hello {uuid.uuid4()}"

    assert ask(stub, "stub-429", prompt).status_code == 429
    assert ask(stub, "stub-429", prompt).status_code == 200


def test_it_lists_models_and_embeds(stub: RunningStub) -> None:
    with httpx.Client(trust_env=False, timeout=30) as client:
        assert "stub-echo" in {row["id"] for row in client.get(f"{stub.base_url}/models").json()["data"]}
        vectors = client.post(f"{stub.base_url}/embeddings", json={"model": "stub", "input": ["a", "b"]}).json()["data"]
    assert len(vectors) == 2 and vectors[0]["embedding"] != vectors[1]["embedding"]


def judged(stub: RunningStub, model: str, schema: dict[str, object]) -> object:
    sent = {
        "model": model,
        "messages": [{"role": "user", "content": "Judge."}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": schema}},
    }
    with httpx.Client(trust_env=False, timeout=30) as client:
        answer = client.post(f"{stub.base_url}/chat/completions", json=sent).json()
    return json.loads(answer["choices"][0]["message"]["content"])


@pytest.mark.parametrize(
    ("model", "score", "met", "label"),
    [
        ("stub-judge-pass", 5, True, "good"),
        ("stub-judge-fail", 1, False, "incorrect"),
        ("stub-judge-0.5", 3, True, "good"),
    ],
)
def test_a_judge_fills_any_schema(stub: RunningStub, model: str, score: int, met: bool, label: str) -> None:
    check = {"type": "object", "properties": {"met": {"type": "boolean"}, "quote": {"type": "string"}}}
    properties = {
        "checks": {"type": "array", "items": check, "minItems": 2},
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "label": {"enum": ["incorrect", "good"]},
    }

    found = judged(stub, model, {"type": "object", "properties": properties})

    assert found == {"checks": [{"met": met, "quote": ""}] * 2, "score": score, "label": label}
