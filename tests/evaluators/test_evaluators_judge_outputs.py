"""Toxicity by moderation, and personal data by a judge."""

from __future__ import annotations

import pytest

from evaluators.base import CannotScore, TransientError
from evaluators.gateway import Moderation
from tests.evaluators.fake_gateway import FakeGateway, Unasked
from tests.evaluators.judge_variants import (
    FORMER_PII,
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


@pytest.mark.parametrize("error", [CannotScore("not_configured", "No."), TransientError("timeout", "Late.")])
def test_moderation_s_errors_pass_through(error: CannotScore) -> None:
    gateway = Unasked()
    gateway.moderation = error
    with pytest.raises(CannotScore) as caught:
        ask("toxicity-moderation", make_sample(output="x"), gateway)
    assert caught.value is error


def test_moderation_without_categories_is_an_error() -> None:
    with pytest.raises(TransientError) as failure:
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


def test_a_former_evaluator_drops_passages_that_do_not_stand_there() -> None:
    score, _ = ask(FORMER_PII, LETTER, named(("PERSON", "Bob Carr"), ("PERSON", ""), ("EMAIL", "a@b.example")))
    assert score.spans == ((49, 60),)
    assert score.extra["n_dropped"] == 2
    assert ask(FORMER_PII, LETTER, named(("PERSON", "Bob Carr")))[0].passed is True


def test_a_text_fails_for_what_is_found_and_counts_what_is_not() -> None:
    score, gateway = ask(PII, LETTER, named(("PERSON", "Bob Carr"), ("PERSON", ""), ("EMAIL", "a@b.example")))
    assert (score.value, score.spans, score.extra["n_unmatched"]) == (0.0, ((49, 60),), 2)
    assert len(gateway.questions) == 1


@pytest.mark.parametrize("quote", ["Bob Carr", "", "...", "nn Bel", "x" * 5_000])
def test_personal_data_that_are_named_and_not_found_are_no_pass(quote: str) -> None:
    gateway = FakeGateway(named(("PERSON", quote)))
    with pytest.raises(TransientError) as failure:
        ask(PII, make_sample(output="Ask Ann\u200bbel."), gateway)
    assert failure.value.code == "bad_output"
    assert "Bob" not in failure.value.detail
    assert len(gateway.questions) == 2


@pytest.mark.parametrize(
    ("output", "quote", "found"),
    [
        ("Dial +44 20 7946 0018 now.", "442079460018", "44 20 7946 0018"),
        (
            "Dial \uff10\uff12\uff10-\uff17\uff19\uff14\uff16.",
            "020 7946",
            "\uff10\uff12\uff10-\uff17\uff19\uff14\uff16",
        ),
        ("\u0660\u0661\u0662\u0663", "0123", "\u0660\u0661\u0662\u0663"),
        ("Ask ANN BELL.", "Ann Bell", "ANN BELL"),
        ("Ask Ann\n  Bell.", "Ann Bell", "Ann\n  Bell"),
        ("4111-1111-1111-1111", "4111 1111 1111 1111", "4111-1111-1111-1111"),
        ("\u7530\u4e2d\u3055\u3093", "\u7530\u4e2d", "\u7530\u4e2d"),
    ],
)
def test_passages_are_found_whatever_their_digits_case_and_marks(output: str, quote: str, found: str) -> None:
    score, _ = ask(PII, make_sample(output=output), named(("PERSON", quote)))
    assert [output[start:end] for start, end in score.spans or ()] == [found]
    assert score.passed is False


def test_a_judge_that_looks_again_may_find_nothing() -> None:
    answers = iter([named(("PERSON", "Bob Carr")), named()])
    score, gateway = ask(PII, LETTER, FakeGateway(lambda *_: next(answers)))
    assert (score.value, len(gateway.questions)) == (1.0, 2)


def test_more_passages_than_anybody_names_are_no_answer() -> None:
    with pytest.raises(TransientError) as failure:
        ask(PII, LETTER, named(*[("PERSON", "Ann Bell")] * 201))
    assert failure.value.code == "bad_output"


def test_only_the_profile_s_kinds_are_asked_for() -> None:
    _, gateway = ask(PII, LETTER, named(), entities=["EMAIL"])
    assert "PERSON" not in str(gateway.questions[0].schema)
    with pytest.raises(TransientError):
        ask(PII, LETTER, named(("PERSON", "Ann Bell")), entities=["EMAIL"])


def test_no_personal_data_passes() -> None:
    assert ask(PII, LETTER, named())[0].value == 1.0


@pytest.mark.parametrize("output", ["", " \n"])
def test_a_blank_output_has_no_personal_data(output: str) -> None:
    assert ask(PII, make_sample(output=output), Unasked())[0].value == 1.0
