"""Text whose language cannot be told is scored, and the explanation says so in every family that reads English."""

from __future__ import annotations

import pytest

from evaluators.base import effective_settings
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
