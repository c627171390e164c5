"""Hallucination of bare short answers: a name or number of the contexts that another one might as well be."""

from __future__ import annotations

import pytest

from evaluators.base import Passage, Sample, Score
from evaluators.families.retrieval.hallucination import Hallucination

FAMILY = Hallucination()
LAKE = (
    "Lake Sova lies in Norland and is 42 km long. Its deepest point is 310 m, near Harstad. "
    "Marta Lind first swam across it in 1987."
)


def judged(output: str, question: str, context: str = LAKE) -> Score:
    return FAMILY.score(Sample(input=question, output=output, contexts=(Passage(context),)), {})


@pytest.mark.parametrize(
    ("question", "output"),
    [
        ("How long is Lake Sova in km?", "42"),
        ("Who first swam across it?", "Marta Lind"),
        ("In which country does Lake Sova lie?", "Norland"),
    ],
)
def test_the_answer_that_stands_nearest_to_the_question_passes(question: str, output: str) -> None:
    score = judged(output, question)
    assert (score.passed, score.undecided) == (True, None)


@pytest.mark.parametrize(
    ("question", "output"),
    [
        ("How long is Lake Sova in km?", "310"),
        ("How long is Lake Sova in km?", "1987"),
        ("Who first swam across it?", "Harstad"),
        ("Who first swam across it?", "Norland"),
        ("In which country does Lake Sova lie?", "Marta Lind"),
        ("Who first swam across it?", "1987"),
        ("When did she swim across it?", "Harstad"),
    ],
)
def test_another_name_or_number_of_the_context_is_undecided(question: str, output: str) -> None:
    assert judged(output, question).undecided == "short_answer"


def test_a_name_that_no_context_has_fails() -> None:
    score = judged("Kirovan", "Who first swam across it?")
    assert not score.passed


def test_the_only_name_passes() -> None:
    assert (
        judged("Egypt", "Through which country does the Nile flow?", "The Nile flows through Egypt.").undecided is None
    )


def test_without_a_question_nothing_is_asked_for() -> None:
    assert judged("Harstad", "").undecided != "short_answer"
