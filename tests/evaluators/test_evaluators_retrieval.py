"""Ranking metrics over retrieved texts, with the rules at the edges."""

from __future__ import annotations

import math

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluators.base import CannotScore, Field, JSONValue, Lane, Sample, Score
from evaluators.families.metrics import Metrics
from evaluators.retrieval.measured import MAX_TEXTS
from evaluators.retrieval.ranking import GRADE_STEPS, METRICS, measure, ranked
from tests.evaluators.samples import make_sample

FAMILY = Metrics()


def score(
    metric: str,
    contexts: tuple[str, ...],
    gold: tuple[str, ...],
    relevance: tuple[float, ...] | None = None,
    **more: JSONValue,
) -> Score:
    grades = relevance or (None,) * len(gold)
    wanted = [{"text": text, "relevance": grade} for text, grade in zip(gold, grades, strict=True)]
    sample = make_sample(contexts=contexts, gold_contexts=wanted)
    return FAMILY.score(sample, {"metric": metric, **more})


def value(
    metric: str, contexts: str, gold: str, relevance: tuple[float, ...] | None = None, **more: JSONValue
) -> float:
    return score(metric, tuple(contexts.split()), tuple(gold.split()), relevance, **more).value


@pytest.mark.parametrize(
    ("metric", "contexts", "gold", "expected"),
    [
        ("recall_single_hit", "x a", "a b", 1.0),
        ("recall_single_hit", "x y", "a b", 0.0),
        ("recall_multi_hit", "x a", "a b", 0.5),
        ("recall_multi_hit", "b a", "a b", 1.0),
        ("recall_multi_hit", "a a", "a b", 0.5),
        ("mrr", "x y a", "a b", 1 / 3),
        ("mrr", "x y", "a", 0.0),
        ("map", "a x b", "a b", (1 / 1 + 2 / 3) / 2),
        ("map", "a x y", "a b", 0.5),
        ("map", "a a b", "a b", (1 / 1 + 2 / 3) / 2),
        ("ndcg", "x a", "a", 1 / math.log2(3)),
        ("ndcg", "a a b", "a b", (1 + 1 / 2) / (1 + 1 / math.log2(3))),
    ],
)
def test_by_hand(metric: str, contexts: str, gold: str, expected: float) -> None:
    assert value(metric, contexts, gold) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("k", "expected"), [(1, 1.0), (2, 0.5), (4, 0.5), (10, 0.2)])
def test_precision_divides_by_k_even_where_fewer_were_retrieved(k: int, expected: float) -> None:
    assert value("precision_at_k", "a x b y", "a b", k=k) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "at_2"), [("recall_multi_hit", 0.5), ("recall_single_hit", 1.0), ("mrr", 0.5), ("map", 0.25)]
)
def test_k_cuts_the_list(metric: str, at_2: float) -> None:
    assert value(metric, "x a b", "a b", k=2) == pytest.approx(at_2)


def test_gain_is_linear_in_the_grade() -> None:
    found = value("ndcg", "a b", "b a", (3.0, 1.0))
    assert found == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))


def test_grades_matter_by_their_proportions() -> None:
    whole = value("ndcg", "a b c", "b a", (4.0, 1.0))
    assert value("ndcg", "a b c", "b a", (1.0, 0.25)) == pytest.approx(whole, abs=1e-3)
    assert value("ndcg", "a b c", "b a", (4e9, 1e9)) == pytest.approx(whole, abs=1e-3)


def test_high_grades_make_no_table_of_their_height() -> None:
    assert max(ranked(["a"], ["a", "b"], [1e15, 1e-9]).grades.values()) == GRADE_STEPS


@pytest.mark.parametrize("metric", METRICS)
def test_a_grade_of_zero_is_not_relevant(metric: str) -> None:
    assert value(metric, "a", "a b", (0.0, 1.0), k=1) == 0.0


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("contexts", "gold"), [((), ("a",)), (("a",), ()), ((), ()), (("",), ("",)), ((" ",), (" ",))])
def test_nothing_relevant_or_retrieved_is_zero(metric: str, contexts: tuple[str, ...], gold: tuple[str, ...]) -> None:
    found = score(metric, contexts, gold, k=3)
    assert found.value == 0.0
    assert found.extra.get("nothing_relevant", False) is not bool([text for text in gold if text.strip()])


def test_blank_texts_take_no_rank() -> None:
    assert score("mrr", ("", " \n", "a"), ("a", "")).value == 1.0


def test_texts_are_compared_by_every_character() -> None:
    assert score("mrr", ("A",), ("a",)).value == 0.0


def test_equal_scores_cannot_reorder_the_list() -> None:
    texts = [f"text {number}" for number in range(3_000)]
    assert measure("mrr", ranked(texts, [texts[2_499]])) == pytest.approx(1 / 2_500)


def test_it_shows_hits_and_counts() -> None:
    found = score("ndcg", ("x", "a", "a", "b"), ("b", "a", "c"), (3.0, 1.0, 2.0), k=4)
    assert found.extra == {
        "metric": "ndcg",
        "hits": [{"rank": 2, "grade": 1}, {"rank": 4, "grade": 3}],
        "n_hits": 2,
        "n_relevant": 3,
        "n_retrieved": 4,
        "k": 4,
    }


def test_it_says_why() -> None:
    assert score("mrr", ("x", "a"), ("a",), pass_threshold=0.5).explanation == (
        "The reciprocal rank is 0.50; 1 of 1 relevant texts are among 2, which reaches the threshold of 0.5."
    )


def test_it_needs_contexts_and_not_answers() -> None:
    assert FAMILY.fields_for({"metric": "ndcg"}) == (Field.CONTEXT, Field.GOLD_CONTEXT)
    assert FAMILY.fields_for({"metric": "bleu"}) == (Field.OUTPUT, Field.GOLD)


def test_only_the_model_s_metric_leaves_the_request() -> None:
    assert FAMILY.lane_of({"metric": "sas"}) is Lane.CPU
    assert FAMILY.lane_of({"metric": "map"}) is Lane.INLINE


@pytest.mark.parametrize(
    ("config", "pointers"),
    [
        ({"metric": "precision_at_k"}, ["/k"]),
        ({"metric": "precision_at_k", "k": 0}, ["/k"]),
        ({"metric": "bleu", "k": 3}, ["/k"]),
        ({"metric": "mrr", "k": 3}, []),
        ({"metric": "ndcg", "pass_threshold": 0.5}, []),
    ],
)
def test_k_is_asked_for_where_it_means_something(config: dict[str, JSONValue], pointers: list[str]) -> None:
    assert [problem.pointer for problem in FAMILY.check_settings(config)] == pointers


@pytest.mark.parametrize(
    ("sample", "code"),
    [
        (make_sample(contexts=("a",) * MAX_TEXTS, gold_contexts=("a",)), "input_too_long"),
    ],
)
def test_what_cannot_be_measured_is_declined(sample: Sample, code: str) -> None:
    with pytest.raises(CannotScore) as refusal:
        FAMILY.score(sample, {"metric": "ndcg"})
    assert refusal.value.code == code


@pytest.mark.timeout(60)
@pytest.mark.parametrize("metric", METRICS)
def test_the_longest_list_is_measured(metric: str) -> None:
    texts = tuple(str(number) for number in range(MAX_TEXTS - 1))
    assert 0.0 < score(metric, texts, (texts[5],), k=MAX_TEXTS).value <= 1.0


TEXTS = st.lists(st.sampled_from("abcdef"), max_size=8, unique=True)


@given(TEXTS, TEXTS, st.sampled_from(sorted(METRICS)))
@settings(max_examples=80, deadline=None)
def test_without_edges_it_equals_the_library(contexts: list[str], gold: list[str], metric: str) -> None:
    found = measure(metric, ranked(contexts, gold))
    if not set(contexts) & set(gold):
        assert found == 0.0
        return
    library = getattr(ir_measures, METRICS[metric]) @ len(contexts)
    run = {"q": {text: float(len(contexts) - index) for index, text in enumerate(contexts)}}
    judged = {"q": dict.fromkeys(gold, 1)}
    assert found == pytest.approx(ir_measures.calc_aggregate([library], judged, run)[library])
