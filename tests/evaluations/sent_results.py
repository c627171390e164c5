"""Results made elsewhere, as a caller sends them."""

from __future__ import annotations

from typing import Any

from evalsvc.evaluations.models import Evaluation
from tests.conftest import Caller

PATH = "/v1/evaluation-results/batch"
FULL = {
    "evaluator_id": "tone",
    "criteria": "friendly",
    "pass": True,
    "score_raw": 0.75,
    "text_output": "warm",
    "explanation": "It says please.",
    "evaluated_model_system_prompt": "Be kind.",
    "evaluated_model_retrieved_context": ["one", "two"],
    "evaluated_model_input": "May I?",
    "evaluated_model_output": "Please do.",
    "evaluated_model_gold_answer": "Yes.",
    "evaluated_model_attachments": [{"url": "https://a.example/b.png", "media_type": "image/png", "usage_type": "x"}],
    "evaluated_model_name": "m",
    "evaluated_model_provider": "p",
    "evaluated_model_params": {"temperature": 0.5},
    "evaluated_model_selected_model": "m-1",
    "evaluation_metadata": {"by": "hand", "big": 1e300},
    "evaluation_duration": "PT0.216S",
    "explanation_duration": "P1DT2H",
    "dataset_id": "d-1",
    "dataset_sample_id": 7,
    "tags": {"team": "a"},
    "app": "cart",
}


def row(**fields: Any) -> dict[str, Any]:
    return {"evaluator_id": "tone", "score_raw": 0.5} | fields


def send(caller: Caller, *rows: Any, **headers: str) -> dict[str, Any]:
    answer = caller.post(PATH, {"evaluation_results": list(rows)}, **headers)
    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert set(found) - {"warnings"} == {"evaluation_results", "n_new", "errors"}
    return found


def kept(caller: Caller, *rows: Any, **headers: str) -> list[dict[str, Any]]:
    found = send(caller, *rows, **headers)
    assert found["errors"] == []
    return found["evaluation_results"]


def n_kept(caller: Caller) -> int:
    return Evaluation.objects.using("system").filter(account_id=caller.account.pk).count()
