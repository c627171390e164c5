"""Text whose language cannot be told is scored, and the explanation says so in every family that reads English."""

from __future__ import annotations

import pytest

from evaluators.base import Score, effective_settings
from evaluators.registry import find_evaluator
from tests.evaluators.samples import make_sample

SHORT = ("Ferme ta gueule, connard.", "Va te faire foutre, sale con.", "Eres una mierda, cállate.")
ENGLISH_ALONE = "this evaluator reads English alone."
READERS = (
    "toxicity",
    "phi",
    "pii-broad",
    "retrieval-answer-relevance",
    "retrieval-context-relevance",
    "retrieval-context-sufficiency",
)


ELSEWHERE = (
    "Du Schwein",
    "Le chat dort.",
    "Es regnet heute.",
    "Buona notte!",
    "Goede morgen",
    "Selamat pagi",
    "mujhe neend aa rahi hai",
    "jinjja babo gata",
    "Your order shipped today. Eres muy tonto, lárgate de aquí. Track it online.",
    "As my neighbour put it, du bist eine blöde Kuh, and then he left.",
    "Thank you for waiting. mujhe neend aa rahi hai. Is there anything else?",
)
"""Short texts in other languages, some romanised, and sentences of them within English ones."""
PLAIN = (
    "Sure!",
    "Thanks, Tom.",
    "Open the door.",
    "The cat sleeps.",
    "Ham and eggs",
    "It snowed.",
    "Type II diabetes",
    "John Smith",
    "Blue whale",
    "The cafe is closed, so we met at the naïve painter's flat.",
    "The order of the United Nations was read aloud, and the mayor of San José agreed with it.",
)


def toxicity(text: str, evaluator: str = "toxicity") -> Score:
    found = find_evaluator(evaluator)
    assert found is not None
    family, spec = found
    return family.score(make_sample(output=text), effective_settings(spec, {}))


def explanation(evaluator: str, text: str) -> str:
    found = find_evaluator(evaluator)
    assert found is not None
    family, spec = found
    sample = make_sample(input="Where does the old mill stand in this valley?", output=text, contexts=[text])
    score = family.score(sample, effective_settings(spec, {}))
    assert score.explanation is not None
    return score.explanation


@pytest.mark.parametrize("text", SHORT)
@pytest.mark.parametrize("evaluator", READERS)
def test_what_may_be_another_language_is_said(evaluator: str, text: str) -> None:
    assert ENGLISH_ALONE in explanation(evaluator, text)


@pytest.mark.parametrize("evaluator", READERS)
def test_two_words_are_too_short_to_tell(evaluator: str) -> None:
    assert "is too short to tell its language" in explanation(evaluator, "Sale con")


@pytest.mark.parametrize("evaluator", READERS)
def test_of_english_nothing_is_said(evaluator: str) -> None:
    assert ENGLISH_ALONE not in explanation(evaluator, "The mill stands by the river and has been closed for years.")


@pytest.mark.parametrize("text", ELSEWHERE)
def test_a_pass_of_words_in_another_language_is_undecided(text: str) -> None:
    score = toxicity(text)
    assert score.passed
    assert score.undecided in ("language", "too_short")
    assert score.explanation is not None
    assert score.explanation.endswith(ENGLISH_ALONE)


@pytest.mark.parametrize("text", PLAIN)
def test_a_short_english_text_passes_without_a_doubt(text: str) -> None:
    score = toxicity(text)
    assert (score.passed, score.undecided) == (True, None)
    assert score.explanation is not None
    assert ENGLISH_ALONE not in score.explanation


def test_a_text_below_eleven_letters_is_too_short() -> None:
    assert (toxicity("Du Schwein").undecided, toxicity(SHORT[0]).undecided) == ("too_short", "language")


def test_an_insult_that_is_found_fails_whatever_stands_beside_it() -> None:
    score = toxicity("Le chat dort. You are a stupid asshole and everybody hates you.")
    assert (score.passed, score.undecided) == (False, None)


def test_former_evaluators_decide_as_before() -> None:
    assert toxicity("Le chat dort.", "toxicity-2026-11-23").undecided is None
