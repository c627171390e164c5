"""The words every family speaks."""

from __future__ import annotations

import dataclasses

import pytest

from evaluators.base import (
    CannotScore,
    EvaluatorSpec,
    Family,
    Field,
    Lane,
    ManagedProfile,
    Sample,
    Score,
    Settings,
    SettingsProblem,
    effective_settings,
)
from evaluators.registry import get_family
from evaluators.settings import object_schema
from tests.evaluators.samples import make_sample

SPEC = EvaluatorSpec(id="x-2026-11-01", name="X", description="An example.", settings={"mode": "strict"})


@pytest.mark.parametrize(
    ("name", "sample"),
    [
        (Field.INPUT, make_sample(input="")),
        (Field.OUTPUT, make_sample(output="")),
        (Field.CONTEXT, make_sample(contexts=())),
        (Field.GOLD, make_sample(gold="")),
        (Field.SYSTEM_PROMPT, make_sample(system_prompt="")),
    ],
)
def test_an_empty_field_counts_as_sent(name: Field, sample: Sample) -> None:
    assert sample.has(name)
    assert [other for other in Field if sample.has(other)] == [name]


def test_a_missing_field_is_none() -> None:
    assert make_sample().value_of(Field.GOLD) is None


def test_it_counts_the_characters_that_a_family_may_read() -> None:
    assert make_sample(input="ab", output="c", contexts=("de", "f"), gold="g", system_prompt="not counted").n_chars == 7


def test_it_counts_astral_characters_once() -> None:
    assert make_sample(output="😀😀").n_chars == 2


def test_an_empty_sample_has_no_characters() -> None:
    assert make_sample().n_chars == 0


def test_fields_have_the_names_that_the_api_answers_with() -> None:
    assert [str(name) for name in Field] == [
        "evaluated_model_input",
        "evaluated_model_output",
        "evaluated_model_retrieved_context",
        "evaluated_model_gold_answer",
        "evaluated_model_system_prompt",
        "evaluated_model_gold_context",
        "evaluated_model_top_k_context",
        "evaluated_model_baseline_output",
        "conversation",
        "reference",
    ]


def test_missing_fields_are_listed_in_the_family_s_order() -> None:
    family = get_family("exact-match")
    assert family.missing_fields(make_sample(), {}) == [Field.OUTPUT, Field.GOLD]
    assert family.missing_fields(make_sample(output="x"), {}) == [Field.GOLD]
    assert family.missing_fields(make_sample(output="", gold=""), {}) == []


def test_the_evaluator_s_settings_lie_under_the_profile_s() -> None:
    assert effective_settings(SPEC, {"pass_threshold": 0.7}) == {"mode": "strict", "pass_threshold": 0.7}


def test_effective_settings_leave_their_sources_alone() -> None:
    profile: dict[str, float] = {"pass_threshold": 0.7}
    merged = effective_settings(SPEC, profile)
    merged["mode"] = "other"
    assert SPEC.settings == {"mode": "strict"}
    assert profile == {"pass_threshold": 0.7}


def test_effective_settings_of_a_plain_evaluator_are_the_profile_s() -> None:
    plain = EvaluatorSpec(id="y-2026-11-01", name="Y", description="Another example.")
    assert effective_settings(plain, {"a": 1}) == {"a": 1}
    assert effective_settings(plain, {}) == {}


@pytest.mark.parametrize("value", [make_sample(), Score(1.0, True), SPEC, ManagedProfile("n", "d")])
def test_values_are_frozen(value: object) -> None:
    name = dataclasses.fields(value)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, "changed")


def test_cannot_score_carries_a_code_and_a_sentence() -> None:
    error = CannotScore("unsupported_language", "The output is in Greek.")
    assert (error.code, error.detail, str(error)) == (
        "unsupported_language",
        "The output is in Greek.",
        "The output is in Greek.",
    )


def test_a_family_without_a_score_cannot_be_made() -> None:
    with pytest.raises(TypeError):
        Family()  # type: ignore[abstract]


class Even(Family):
    """Declares its settings, and one rule that a schema has no word for."""

    lane = Lane.CPU
    judge_variants = ("judge", "moderation")
    settings_schema = object_schema({"n": {"type": "integer"}})

    def problems_beyond_schema(self, settings: Settings) -> list[SettingsProblem]:
        return [] if int(str(settings.get("n", 0))) % 2 == 0 else [SettingsProblem("/n", "must be even")]

    def score(self, sample: Sample, settings: Settings, *, explain: bool = True) -> Score:
        return Score(1.0, True)


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({}, []),
        ({"n": 2}, []),
        ({"n": 3}, ["must be even"]),
        ({"n": "3"}, ["must be a whole number"]),
        ({"m": 3, "n": 3}, ["is not a setting; known are: n"]),
    ],
)
def test_settings_are_held_to_the_schema_and_then_to_the_family(settings: Settings, wrong: list[str]) -> None:
    assert [problem.detail for problem in Even().check_settings(settings)] == wrong


@pytest.mark.parametrize(
    ("variant", "lane"), [(None, Lane.CPU), ("words", Lane.CPU), ("judge", Lane.JUDGE), ("moderation", Lane.JUDGE)]
)
def test_variants_that_ask_somebody_are_for_the_judges(variant: str | None, lane: Lane) -> None:
    assert Even().lane_of({"variant": variant}) is lane


def test_lanes_are_the_names_of_queues() -> None:
    assert [str(lane) for lane in Lane] == ["inline", "cpu", "judge"]
