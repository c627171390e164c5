"""A bare yes or no answers a question of yes or no, and no other question."""

from __future__ import annotations

from itertools import product

import pytest

from evaluators.base import Score, effective_settings
from evaluators.registry import find_evaluator
from evaluators.relevance.yes_or_no import asks_yes_or_no, is_bare_answer
from tests.evaluators.samples import make_sample

QUESTIONS = (
    "Is Oslo in Norway?",
    "Is 7 a prime number?",
    "Do I need a visa for Japan?",
    "Can dogs eat chocolate?",
    "Isn't Rome older than Paris?",
    "In winter, is the pass closed?",
    "The train leaves at nine, doesn't it?",
    "Is it true that the man who wrote Emma was French?",
    "True or false: water boils at 90 degrees.",
    "Oslo is in Norway?",
    "The man who wrote Emma was French?",
    "Tell me whether Oslo is in Norway.",
    "Do you know if the shop opens at nine?",
    "Any vegetarian options?",
)
ANSWERS = (
    "Yes",
    "No",
    "Yes.",
    "no",
    "Yes, it is.",
    "No, it isn't.",
    "Yes, of course.",
    "Nope",
    "Correct",
    "Probably not.",
    "No way, never.",
)
# Drawn up in one go after the rules, with other verbs, openings and subjects; no rule was changed for them.
QUESTIONS_APART = (
    "Were the pyramids built before Stonehenge?",
    "Hello, may I park here on Sundays?",
    "If I miss the deadline, will my deposit be returned?",
    "You deliver to Malta, right?",
    "Hasn't the patch been released yet?",
    "I bought the ticket yesterday. Could I still cancel it?",
    "should cast iron be washed with soap",
    "And would a vegan eat honey?",
    "Did Marie Curie win two Nobel Prizes?",
    "Yes or no: does the lease allow pets?",
)
ANSWERS_APART = (
    "Yeah, sure.",
    "Never!",
    "No, not at all.",
    "yes it does",
    "Absolutely not.",
    "Right.",
    "No, I do not.",
    "Indeed.",
)
NOT_OF_YES_OR_NO = (
    "Why is the sky blue?",
    "Can you tell me when the train leaves?",
    "Could you please explain why the build fails?",
    "What is the capital of France?",
    "Write a poem about rain.",
    "Who wrote Emma?",
    "I read Emma last week. Who wrote it?",
    "Who wrote Emma? Please be brief.",
    "In which year was it built?",
    "How many moons has Mars?",
    "And the capital of France is what?",
    "I wonder if you could explain how photosynthesis works.",
)
BARE = ("Yes", "Yes.", "No", "No, it is not.", "Sure.", "Okay", "Absolutely!")
# Drawn up in one go after the rules; no rule was changed for them.
FOR_MORE_APART = (
    "Whose painting hangs in the hall?",
    "Hi, when does the late ferry leave?",
    "Because of the storm, which trains were cancelled?",
    "From where does the coffee come?",
    "how tall is the tower",
    "I lost my card. What should I do?",
    "Could you tell me how much the deposit is?",
    "Why did the second pump fail?",
)


def score(question: str, output: str, name: str = "answer-relevance") -> Score:
    found = find_evaluator(name)
    assert found is not None
    settings = effective_settings(found[1], found[0].managed_profiles[0].settings)
    return found[0].score(make_sample(input=question, output=output), settings)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_bare_answer_is_relevant(question: str) -> None:
    assert [output for output in ANSWERS if not score(question, output).passed] == []


def test_bare_answers_held_apart_are_relevant() -> None:
    pairs = list(product(QUESTIONS_APART, ANSWERS_APART))

    assert sum(not score(*pair).passed for pair in pairs) <= 0.05 * len(pairs)


@pytest.mark.parametrize("question", NOT_OF_YES_OR_NO)
def test_other_questions_are_not_answered_by_it(question: str) -> None:
    assert not asks_yes_or_no(question)
    assert [output for output in BARE if score(question, output).passed] == []


def test_a_choice_is_no_question_of_yes_or_no() -> None:
    assert not asks_yes_or_no("Is it red or blue?")
    assert not score("Is it red or blue?", "Yes.").passed


def test_questions_held_apart_are_not_answered_by_it() -> None:
    assert [pair for pair in product(FOR_MORE_APART, BARE) if score(*pair).passed] == []


@pytest.mark.parametrize(
    ("question", "output"),
    [
        ("Who wrote Emma?", "Jane Austen"),
        ("When did the war end?", "1945"),
        ("How about tomorrow?", "Yes"),
        ("What is the opposite of yes?", "No"),
        ("Which hand do you write with?", "Right."),
    ],
)
def test_a_brief_answer_stays_relevant(question: str, output: str) -> None:
    assert score(question, output).passed


def test_the_explanation_says_what_is_missing() -> None:
    assert "asks for a person" in str(score("Who wrote Emma?", "Yes").explanation)
    assert "asks for more" in str(score("Why is the sky blue?", "Yes").explanation)


@pytest.mark.parametrize("output", ["Bananas", "Yes, bananas grow in Fiji.", "Yesterday", "", "No idea"])
def test_what_says_more_is_no_bare_answer(output: str) -> None:
    assert not is_bare_answer(output, "Is Oslo in Norway?")


def test_the_former_id_keeps_its_verdict() -> None:
    assert not score("Is Oslo in Norway?", "Yes", "retrieval-answer-relevance-2026-11-23").passed
    assert score("Who wrote Emma?", "Yes", "retrieval-answer-relevance-2026-11-23").passed
