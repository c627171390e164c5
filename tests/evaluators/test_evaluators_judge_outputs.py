"""Toxicity by moderation, and personal data by a judge."""

from __future__ import annotations

import pytest

from evaluators.base import CannotScore, FailedForNow
from evaluators.gateway import Moderation
from tests.evaluators.fake_gateway import FakeGateway, Unasked
from tests.evaluators.judge_variants import (
    LETTER,
    PII,
    ask,
    named,
)
from tests.evaluators.samples import make_sample

# Toxicity by moderation


def moderation(**categories: float) -> FakeGateway:
    gateway = Unasked()
    gateway.moderation = Moderation(flagged=False, categories=categories, provenance={"calls": 1})
    return gateway


@pytest.mark.parametrize(
    ("categories", "value", "passed"),
    [
        ({"hate": 0.9, "violence": 0.1}, 0.1, False),
        ({"hate": 0.01, "violence": 0.02}, 0.98, True),
        ({"hate": 0.5}, 0.5, True),
        ({"hate": 1.2}, 0.0, False),
    ],
)
def test_moderation_scores_the_worst_category(categories: dict[str, float], value: float, passed: bool) -> None:
    score, gateway = ask("toxicity-moderation", make_sample(output="Some text."), moderation(**categories))
    assert score.value == pytest.approx(value)
    assert score.passed is passed
    assert (score.extra["categories"], score.extra["flagged"]) == (categories, False)
    used = score.extra["judge"]
    assert isinstance(used, dict)
    assert used["calls"] == 1
    assert gateway.moderated == ["Some text."]


def test_moderation_reads_languages_that_the_embedded_evaluator_refuses() -> None:
    assert ask("toxicity-moderation", make_sample(output="Привет, как дела?"), moderation(hate=0.0))[0].value == 1.0


def test_a_blank_output_is_not_sent_to_moderation() -> None:
    score, gateway = ask("toxicity-moderation", make_sample(output=" "), Unasked())
    assert (score.value, gateway.moderated) == (1.0, [])


@pytest.mark.parametrize("error", [CannotScore("not_configured", "No."), FailedForNow("timeout", "Late.")])
def test_moderation_s_errors_pass_through(error: CannotScore) -> None:
    gateway = Unasked()
    gateway.moderation = error
    with pytest.raises(CannotScore) as caught:
        ask("toxicity-moderation", make_sample(output="x"), gateway)
    assert caught.value is error


def test_moderation_without_categories_is_an_error() -> None:
    with pytest.raises(FailedForNow) as failure:
        ask("toxicity-moderation", make_sample(output="x"), moderation())
    assert failure.value.code == "bad_output"


# Personal data by a judge


def test_a_judge_s_passages_are_found_wherever_they_stand() -> None:
    score, _ = ask(PII, LETTER, named(("PERSON", "Ann Bell"), ("ADDRESS", " 5 High St ")))
    assert (score.value, score.passed) == (0.0, False)
    assert score.spans == ((4, 12), (14, 23), (34, 42))
    assert score.extra["entities"] == [
        {"type": "PERSON", "start": 4, "end": 12},
        {"type": "ADDRESS", "start": 14, "end": 23},
        {"type": "PERSON", "start": 34, "end": 42},
    ]
    assert "Ann" not in repr(score)


def test_passages_that_do_not_stand_there_are_dropped_and_counted() -> None:
    score, _ = ask(PII, LETTER, named(("PERSON", "Bob Carr"), ("PERSON", ""), ("EMAIL", "a@b.example")))
    assert score.spans == ((49, 60),)
    assert score.extra["n_dropped"] == 2
    assert ask(PII, LETTER, named(("PERSON", "Bob Carr")))[0].passed is True


def test_only_the_profile_s_kinds_are_asked_for() -> None:
    _, gateway = ask(PII, LETTER, named(), entities=["EMAIL"])
    assert "PERSON" not in str(gateway.questions[0].schema)
    with pytest.raises(FailedForNow):
        ask(PII, LETTER, named(("PERSON", "Ann Bell")), entities=["EMAIL"])


def test_no_personal_data_passes() -> None:
    assert ask(PII, LETTER, named())[0].value == 1.0


@pytest.mark.parametrize("output", ["", " \n"])
def test_a_blank_output_has_no_personal_data(output: str) -> None:
    assert ask(PII, make_sample(output=output), Unasked())[0].value == 1.0
