"""Every evaluator that asks a judge, through the API, the worker's code and the stub endpoint."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from evaluators.base import Lane, effective_settings
from evaluators.registry import all_evaluators
from tests.judges.asking import Judge
from tests.judges.working import results, work

JUDGED = [
    (family, spec)
    for family, spec in all_evaluators()
    if len(family.managed_profiles) == 1
    and spec.settings.get("variant") != "moderation"
    and family.lane_of(effective_settings(spec, family.managed_profiles[0].settings)) is Lane.JUDGE
]


@pytest.mark.parametrize(("family", "spec"), JUDGED, ids=lambda value: getattr(value, "id", ""))
def test_it_has_a_verdict(judge: Judge, family: Any, spec: Any) -> None:
    name = f"asked-{uuid.uuid4().hex[:8]}"
    config = {**family.managed_profiles[0].settings, "model": "stub-judge-pass"}
    made = judge.caller.post(
        "/v1/evaluator-criteria", {"evaluator_family": family.name, "name": name, "config": config}
    )
    assert made.status_code in (200, 201), made.content
    body = {
        "evaluators": [{"evaluator": spec.id, "criteria": name}],
        "evaluated_model_input": "When does the library open?",
        "evaluated_model_output": "It opens at nine.",
        "evaluated_model_gold_answer": "At nine.",
        "evaluated_model_retrieved_context": ["The library opens at nine.", "Fish swim."],
        "evaluated_model_top_k_context": ["The library opens at nine.", "Fish swim.", "Dogs bark."],
        "evaluated_model_baseline_output": "At ten.",
        "conversation": {
            "messages": [
                {"role": "user", "text": "When does the library open?"},
                {"role": "assistant", "calls": [{"id": "1", "name": "find", "args": {"of": "the library"}}]},
                {"role": "tool", "call_id": "1", "text": "It opens at nine."},
                {"role": "assistant", "text": "It opens at nine."},
            ],
            "tools": [{"name": "find"}],
        },
        "reference": {"topics": ["libraries"], "role": "A librarian."},
        "app": "judged",
    }
    answer = judge.caller.post("/v1/evaluate", body, prefer="respond-async")
    assert answer.status_code == 202, answer.content
    request_id = int(answer.json()["id"])
    work(judge.caller, request_id)

    (found,) = results(judge.caller, request_id)
    assert found["status"] == "success", found["error_message"]
    verdict = found["evaluation_result"]
    assert 0.0 <= verdict["score_raw"] <= 1.0
    used = verdict["additional_info"]["extra"]["judge"]
    assert used["calls"] >= 1
    shown = judge.caller.get(f"/v1/evaluators/{spec.id}/prompt?criteria={name}").json()["prompts"]
    assert used["prompts"]
    assert set(used["prompts"]) <= {one["digest"] for one in shown}
