"""Pictures and recordings: no evaluator reads them, and what would ignore them says so instead."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.evaluations.verdicts import unfit
from evaluators.base import EvaluatorSpec, Family, Field, effective_settings
from evaluators.registry import all_evaluators
from evaluators.samples import build_sample
from tests.conftest import Caller, scores_of

PICTURE = {"url": "https://example.com/a.png", "media_type": "image/png"}
TEXTS: dict[str, Any] = {"input": "q", "output": "a", "gold": "a", "contexts": ["c"], "system_prompt": "s"}
TEXTS |= {"gold_contexts": ["c"], "top_k_contexts": ["c"], "baseline_output": "b"}


def evaluated(caller: Caller, *evaluators: str, usage_type: str | None = None, **fields: Any) -> list[dict[str, Any]]:
    attached = PICTURE if usage_type is None else PICTURE | {"usage_type": usage_type}
    answer = caller.evaluate(
        *evaluators, output="a", gold_answer="a", evaluated_model_attachments=[attached], app="seen", **fields
    )
    assert answer.status_code in (200, 202), answer.content
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


@pytest.mark.parametrize(("family", "spec"), all_evaluators(), ids=lambda value: getattr(value, "id", ""))
@pytest.mark.parametrize("field", [Field.INPUT, Field.OUTPUT, Field.CONTEXT])
def test_what_reads_a_field_refuses_what_is_attached_to_it(family: Family, spec: EvaluatorSpec, field: Field) -> None:
    settings = effective_settings(spec, family.managed_profiles[0].settings if family.managed_profiles else {})
    attached = [{"media_type": "audio/wav", "usage_type": str(field)}]
    verdict = unfit(family, spec.id, settings, build_sample({**TEXTS, "attachments": attached}))

    refusal = verdict.error_code if verdict is not None else None
    assert refusal == ("unsupported_input" if field in family.reads(settings) else None)


def test_a_judge_does_not_answer_as_if_there_were_no_picture(alice: Caller) -> None:
    (found,) = evaluated(alice, "judge/is-polite", task_input="What is on it?")

    assert (found["status"], found["error_code"]) == ("validation_error", "unsupported_input")
    assert "image/png attached to `evaluated_model_input`" in found["error_message"]
    assert scores_of(alice, "judge") == []


def test_what_reads_another_field_is_not_concerned(alice: Caller) -> None:
    exact, judge = evaluated(alice, "exact-match", "judge/is-json", task_input="What is on it?")

    assert (exact["status"], judge["status"]) == ("success", "success")


@pytest.mark.parametrize("usage_type", ["evaluated_model_output", "output", "something else"])
def test_a_field_is_known_by_its_names_and_an_unknown_one_may_be_any(alice: Caller, usage_type: str) -> None:
    (found,) = evaluated(alice, "exact-match", usage_type=usage_type)

    assert found["error_code"] == "unsupported_input"


@pytest.mark.parametrize("prefer", ["respond-async", "wait=10"])
def test_a_call_that_does_not_wait_is_refused_as_well(alice: Caller, prefer: str) -> None:
    (found,) = evaluated(alice, "exact-match", usage_type="evaluated_model_output", headers={"prefer": prefer})

    assert found["error_code"] == "unsupported_input"


def test_no_attachments_are_none(alice: Caller) -> None:
    answer = alice.evaluate("exact-match", output="a", gold_answer="a", evaluated_model_attachments=[], app="seen")

    assert answer.json()["results"][0]["status"] == "success"
