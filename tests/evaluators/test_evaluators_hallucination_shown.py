"""Hallucination: short answers, and what is shown of where and why."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.rules import short_answers
from benchmarks.short_answers import HELD_APART
from evaluators.families.retrieval.hallucination import DEFAULT_THRESHOLD, MAX_LISTED, MAX_SPANS
from evaluators.grounding.support import Parts, SentenceSupport, Support
from tests.evaluators.hallucination_examples import RIVER, score

# Short answers


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("How long is the Mir?", "240 km", "1906"),
        ("Who built the first bridge over the Sova?", "Anna Petrova", "the Black Sea"),
        ("When was the first bridge built?", "1906", "240"),
    ],
)
def test_of_short_answers_the_one_near_the_question_ranks_above(question: str, right: str, wrong: str) -> None:
    better, worse = score(right, RIVER, question=question), score(wrong, RIVER, question=question)
    assert better.value > worse.value >= 0.95
    assert "stands to the question's words" in (better.explanation or "")


def test_nearness_speaks_of_short_answers_alone() -> None:
    assert score("The Mir is 240 km long and not open to cars.", RIVER).extra["near_question"] is None
    assert score("240 km", RIVER, question="What is it?").extra["near_question"] is None
    assert score("240 km", RIVER, question=None).value == 1.0
    near = score("240 km", RIVER).extra["near_question"]
    assert isinstance(near, float)
    assert 0.0 < near <= 1.0


@given(support=st.floats(0, 1), near=st.none() | st.floats(0, 1))
def test_nearness_takes_little_and_never_the_verdict(support: float, near: float | None) -> None:
    value = Support((SentenceSupport((0, 1), support, Parts(0.0, 0.0, 0.0)),), near).value
    assert support * 0.95 - 1e-12 <= value <= support
    assert (value >= DEFAULT_THRESHOLD) == (support >= DEFAULT_THRESHOLD)


def test_right_short_answers_rank_above_wrong_ones_held_apart() -> None:
    found = short_answers(HELD_APART)
    assert found["wrong_in_sentences"] >= 0.95
    assert found["wrong_as_short"] >= 0.75


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ["b ", "a b ", "a b. ", "b c d e f g h i j k l m n o p q r s. "])
def test_a_short_answer_in_the_longest_context_is_scored(unit: str) -> None:
    context = (unit * 240_000)[:480_000]
    assert 0.0 <= score("b", context, question="Is it " + "c d e f g h i j k l m n o p " * 1_000 + "?").value <= 1.0


# Where and why


def test_positions_are_those_of_the_unsupported_sentences() -> None:
    output = "  The Mir is 240 km long. It tastes of honey!\nAnna Petrova built a bridge. Cows swim there."
    found = score(output, RIVER)
    assert found.spans is not None
    assert [output[start:end] for start, end in found.spans] == ["It tastes of honey!", "Cows swim there."]


def test_unsupported_numbers_and_names_are_told_by_position() -> None:
    output = "The Mir is 420 km long. The bridge was built by Anna Petrova and Boris Dimitrov in 1906."
    extra = score(output, RIVER).extra

    def texts(name: str) -> list[str]:
        listed = extra[name]
        assert isinstance(listed, list)
        return [output[slice(*pair)] for pair in listed if isinstance(pair, list)]  # type: ignore[arg-type]

    assert texts("unsupported_numbers") == ["420"]
    assert texts("unsupported_names") == ["Boris", "Dimitrov"]


def test_it_shows_the_parts_of_the_worst_sentence() -> None:
    found = score("The Mir is 240 km long. Cows swim there.", RIVER)
    sentences = found.extra["sentences"]
    assert isinstance(sentences, list)
    assert found.extra["n_sentences"] == 2
    assert [(each["start"], each["end"]) for each in sentences if isinstance(each, dict)] == [(24, 40), (0, 23)]
    assert {"words", "pairs", "together", "negation_differs"} <= set(found.extra)
    assert found.explanation is not None
    assert found.explanation.startswith("The support is 0.")
    assert "the worst of 2 sentences (characters 24 to 40) has 0." in found.explanation


def test_what_it_shows_stays_small_and_repeats_nothing() -> None:
    found = score(" ".join(f"Zanzibar{n} has {n}77 quuxes." for n in range(1_000)), RIVER)
    assert found.spans is not None
    assert len(found.spans) <= MAX_SPANS
    assert all(len(each) <= MAX_LISTED for each in found.extra.values() if isinstance(each, list))
    assert "zanzibar" not in json.dumps(dict(found.extra)).lower()
    assert "zanzibar" not in (found.explanation or "").lower()
