"""Custom checks that a judge decides: criteria in plain words, and graders that ask a model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evaluators.base import Lane, Sample, Score, TransientError
from evaluators.families.custom import Custom
from evaluators.families.judge import Judge
from evaluators.gateway import BOUNDARY
from tests.evaluators.fake_gateway import FakeGateway
from tests.evaluators.judge_variants import (
    RAG,
)
from tests.evaluators.samples import make_sample

# Custom: criteria in plain words, and OpenAI's graders that ask a model

CUSTOM = Custom()
SCORE_MODEL: dict[str, Any] = {
    "type": "score_model",
    "name": "grade",
    "model": "some-model",
    "input": [
        {"role": "system", "content": "Grade the answer from 0 to 10."},
        {"role": "user", "content": "Answer: {{sample.output_text}}"},
    ],
    "range": [0, 10],
    "pass_threshold": 6,
    "sampling_params": {"temperature": 0.2},
}
LABEL_MODEL: dict[str, Any] = {
    "type": "label_model",
    "name": "tone",
    "model": "some-model",
    "input": [{"role": "user", "content": "Which tone has: {{sample.output_text}}"}],
    "labels": ["kind", "plain", "rude"],
    "passing_labels": ["kind", "plain"],
}


def run_custom(settings: dict[str, Any], reply: Any, sample: Sample = RAG) -> tuple[Score, FakeGateway]:
    assert CUSTOM.check_settings(settings) == []
    assert CUSTOM.lane_of(settings) is Lane.JUDGE
    gateway = reply if isinstance(reply, FakeGateway) else FakeGateway(reply)
    return asyncio.run(CUSTOM.score_with(sample, settings, gateway)), gateway


def test_custom_criteria_are_judged_as_by_the_family_judge() -> None:
    settings = {"pass_criteria": "The MODEL OUTPUT must answer the USER INPUT."}
    reply = {"reasoning": "It does.", "checks": [{"id": "a", "met": True, "quote": ""}], "score": 0.8}
    score, gateway = run_custom(settings, reply)
    assert score == asyncio.run(Judge().score_with(RAG, settings, FakeGateway(reply)))
    assert CUSTOM.fields_for(settings) == Judge().fields_for(settings)
    assert gateway.questions[0].prompt_id == "judge/1"


@pytest.mark.parametrize(
    ("said", "value", "passed"), [(0, 0.0, False), (6, 0.6, True), (5.9, 0.59, False), (10, 1.0, True)]
)
def test_a_score_model_s_number_passes_from_its_threshold(said: float, value: float, passed: bool) -> None:
    score, gateway = run_custom(SCORE_MODEL, {"reasoning": "", "score": said})
    assert score.value == pytest.approx(value)
    assert score.passed is passed
    assert score.extra["judge"]
    [asked] = gateway.questions
    assert "Grade the answer from 0 to 10." in asked.system
    assert asked.user == f"Answer: {RAG.output}"
    assert gateway.settings[0]["model"] == "some-model"
    assert gateway.settings[0]["temperature"] == 0.2


@pytest.mark.parametrize(("label", "passed"), [("kind", True), ("plain", True), ("rude", False)])
def test_a_label_model_passes_with_a_passing_label(label: str, passed: bool) -> None:
    score, _ = run_custom(LABEL_MODEL, {"reasoning": "", "label": label})
    assert (score.value, score.passed) == (float(passed), passed)


@pytest.mark.parametrize(
    ("settings", "reply"),
    [
        (SCORE_MODEL, {"reasoning": "", "score": 11}),
        (SCORE_MODEL, {"reasoning": "", "score": "6"}),
        (LABEL_MODEL, {"reasoning": "", "label": "splendid"}),
        (LABEL_MODEL, {"label": "kind"}),
    ],
)
def test_other_grades_are_errors(settings: dict[str, Any], reply: Any) -> None:
    with pytest.raises(TransientError) as failure:
        run_custom(settings, reply)
    assert failure.value.code == "bad_output"


def test_a_multi_grader_adds_up_what_its_models_cost() -> None:
    members = {"score": SCORE_MODEL, "tone": LABEL_MODEL}
    settings = {"type": "multi", "name": "both", "graders": members, "calculate_output": "(score / 10 + tone) / 2"}
    gateway = FakeGateway(
        lambda asked, _: {"reasoning": "", "label": "kind"} if "tone" in asked.user else {"reasoning": "", "score": 5}
    )
    score, _ = run_custom(settings, gateway)
    assert score.value == pytest.approx(0.75)
    used = score.extra["judge"]
    assert isinstance(used, dict)
    assert used["calls"] == 2


def test_an_output_cannot_write_the_boundary_into_a_grader() -> None:
    _, gateway = run_custom(LABEL_MODEL, {"reasoning": "", "label": "kind"}, make_sample(output=f"x {BOUNDARY} y"))
    assert BOUNDARY not in gateway.questions[0].user + gateway.questions[0].system
