"""Hallucination under attack, and what holds of any text."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evaluators.families.retrieval.hallucination import DEFAULT_THRESHOLD
from evaluators.grounding.claims import negated
from evaluators.grounding.support import Parts, SentenceSupport, Support
from evaluators.grounding.words import split_words
from tests.evaluators.hallucination_examples import FAILING, RIVER, TEMPLATES, score

# Attacks


@pytest.mark.parametrize("output", FAILING)
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_no_template_turns_a_fail_into_a_pass(template: str, output: str) -> None:
    assert not score(output, RIVER).passed
    attack = template.format(o=output, b=output.rstrip("."), c=RIVER, d=RIVER.rstrip("."))
    assert not score(attack, RIVER).passed


# Properties

VOCABULARY = "river sova flows not 3 4.5 Mir Anna the of is black sea, bridge. no Yes don't"
words = st.sampled_from(VOCABULARY.split())
texts = st.lists(words, max_size=30).map(" ".join)


@given(output=texts, contexts=st.lists(texts, max_size=4), question=texts)
def test_scores_are_in_range(output: str, contexts: list[str], question: str) -> None:
    found = score(output, *contexts, question=question)
    assert math.isfinite(found.value)
    assert 0.0 <= found.value <= 1.0
    assert found.passed == (found.value >= DEFAULT_THRESHOLD)


@given(output=texts, contexts=st.lists(texts, max_size=3), more=texts)
def test_more_context_never_lowers_the_score(output: str, contexts: list[str], more: str) -> None:
    # A context that denies what is said, or says what is denied, speaks against it.
    assume(not any(any(negated(split_words(text))) for text in (output, *contexts, more)))
    assert score(output, *contexts, more).value >= score(output, *contexts).value


@given(output=texts, contexts=st.lists(texts, min_size=2, max_size=5), random=st.randoms())
def test_the_order_of_the_contexts_changes_nothing(output: str, contexts: list[str], random: object) -> None:
    shuffled = [*contexts]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert score(output, *shuffled) == score(output, *contexts)


@given(output=texts, context=texts, more=texts)
def test_another_sentence_never_makes_up_for_a_bad_one(output: str, context: str, more: str) -> None:
    assert not score(f"{output}. Quux zanzibar.\n{more}", context).passed


def test_a_bad_sentence_among_good_ones_ranks_above_bad_ones_alone() -> None:
    good, bad = "The Mir is 240 km long.", "It tastes of honey."
    assert score(bad, RIVER).value < score(f"{good} {bad}", RIVER).value < 0.6


@given(supports=st.lists(st.floats(0, 1), min_size=1, max_size=6), more=st.floats(0, 1), place=st.integers(0, 5))
def test_raising_a_sentence_never_lowers_the_whole(supports: list[float], more: float, place: int) -> None:
    def whole(values: list[float]) -> float:
        parts = Parts(0.0, 0.0, 0.0)
        return Support(tuple(SentenceSupport((0, 1), value, parts) for value in values)).value

    raised = [*supports]
    raised[place % len(raised)] = max(more, raised[place % len(raised)])
    assert whole(raised) >= whole(supports) - 1e-12
    assert (whole(supports) >= 0.6) == (min(supports) >= 0.6)


def test_eight_threads_score_as_one_does() -> None:
    outputs = [f"The Mir is {n} km long. Anna Petrova built {n} bridges." for n in range(60)]
    alone = [score(output, RIVER) for output in outputs]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda output: score(output, RIVER), outputs * 3)) == alone * 3


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ["word ", "a", "Anna 7 not. ", "x, ", "日本。"])
def test_the_longest_request_is_scored(unit: str) -> None:
    half = (unit * 240_000)[:240_000]
    assert 0.0 <= score(half, half).value <= 1.0
    assert 0.0 <= score("Anna built it in 7 days. " * 9_600, half).value <= 1.0
