"""Pictures and recordings: few evaluators read them, and what would ignore them says so instead."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.evaluations.verdicts import validate_inputs
from evaluators.base import EvaluatorSpec, Family, Field, effective_settings
from evaluators.registry import all_evaluators, find_evaluator
from evaluators.samples import build_sample
from tests.conftest import Caller, scores_of

PICTURE = {"url": "https://example.com/a.png", "media_type": "image/png"}
TEXTS: dict[str, Any] = {"input": "q", "output": "a", "gold": "a", "contexts": ["c"], "system_prompt": "s"}
TEXTS |= {"gold_contexts": ["c"], "top_k_contexts": ["c"], "baseline_output": "b"}
TEXTS |= {"conversation": [{"role": "user", "content": "q"}], "reference": [{"name": "find"}]}


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
    verdict = validate_inputs(family, spec.id, settings, build_sample({**TEXTS, "attachments": attached}))

    refusal = verdict.error_code if verdict is not None else None
    is_refused = field in family.reads(settings) and settings.get("attachments") not in ("recordings", "any")
    assert refusal == ("unsupported_input" if is_refused else None)


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


@pytest.mark.parametrize(
    ("evaluator", "media_type", "is_read"),
    [
        *((name, "image/png", True) for name in ("judge-image", "judge-image-small", "judge-image-large", "judge-mm")),
        *(("judge-image", kind, True) for kind in ("image/jpeg", "image/jpg", "image/webp", "IMAGE/PNG; a=b")),
        *(
            (name, kind, True)
            for name in ("judge-audio", "judge-mm")
            for kind in ("audio/wav", "audio/mpeg", "audio/mp3")
        ),
        *(("judge-image", kind, False) for kind in ("audio/wav", "image/gif", "image/svg+xml", "text/html")),
        *(("judge-audio", kind, False) for kind in ("image/png", "audio/flac", "video/mp4")),
        *(("judge-mm", kind, False) for kind in ("image/gif", "audio/flac")),
        ("judge", "image/png", False),
    ],
)
def test_judges_read_what_their_names_say(evaluator: str, media_type: str, is_read: bool) -> None:
    found = find_evaluator(evaluator)
    assert found is not None
    family, spec = found
    attached = [{"media_type": media_type, "usage_type": "evaluated_model_output"}]
    settings = effective_settings(spec, {"pass_criteria": "The MODEL OUTPUT is polite."})
    verdict = validate_inputs(family, spec.id, settings, build_sample({**TEXTS, "attachments": attached}))

    assert (verdict is None) is is_read


def test_there_are_at_most_four(alice: Caller) -> None:
    answer = alice.evaluate(
        "exact-match", output="a", gold_answer="a", evaluated_model_attachments=[PICTURE] * 5, app="seen"
    )

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/evaluated_model_attachments"


def test_no_attachments_are_none(alice: Caller) -> None:
    answer = alice.evaluate("exact-match", output="a", gold_answer="a", evaluated_model_attachments=[], app="seen")

    assert answer.json()["results"][0]["status"] == "success"
