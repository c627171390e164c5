"""Ranking metrics over retrieved texts, with the rules at the edges."""

from __future__ import annotations

import math
from typing import Any

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.base import (
    CannotScore,
    Field,
    JSONValue,
    Lane,
    ManagedProfile,
    Passage,
    Sample,
    Score,
    effective_settings,
)
from evaluators.families.metrics import IDS_IN_TEXTS, Metrics
from evaluators.registry import find_evaluator
from evaluators.retrieval.measured import MAX_TEXTS
from evaluators.retrieval.ranks import METRICS, measure, rank_passages
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
    assert value("ndcg", "a b c", "b a", (1.0, 0.25)) == pytest.approx(whole, abs=1e-12)
    assert value("ndcg", "a b c", "b a", (4e9, 1e9)) == pytest.approx(whole, abs=1e-12)


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
    assert measure("mrr", rank_passages([*map(Passage, texts)], [Passage(texts[2_499])])) == pytest.approx(1 / 2_500)


def test_it_shows_hits_and_counts() -> None:
    found = score("ndcg", ("x", "a", "a", "b"), ("b", "a", "c"), (3.0, 1.0, 2.0), k=4)
    assert found.extra == {
        "metric": "ndcg",
        "hits": [{"rank": 2, "grade": 1}, {"rank": 4, "grade": 3}],
        "n_hits": 2,
        "n_relevant": 3,
        "n_retrieved": 4,
        "matched_by": "text",
        "k": 4,
    }


def test_it_says_why() -> None:
    assert score("mrr", ("x", "a"), ("a",), pass_threshold=0.5).explanation == (
        "The reciprocal rank is 0.50; 1 of 1 relevant passages are among 2, which reaches the threshold of 0.5."
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
def test_without_edges_it_equals_the_library(contexts: list[str], gold: list[str], metric: str) -> None:
    found = measure(metric, rank_passages([*map(Passage, contexts)], [*map(Passage, gold)]))
    if not set(contexts) & set(gold):
        assert found == 0.0
        return
    library = getattr(ir_measures, METRICS[metric])
    if metric in ("recall_single_hit", "recall_multi_hit", "precision_at_k"):
        library = library @ len(contexts)
    run = {"q": {text: float(len(contexts) - index) for index, text in enumerate(contexts)}}
    judged = {"q": dict.fromkeys(gold, 1)}
    assert found == pytest.approx(ir_measures.calc_aggregate([library], judged, run)[library])


def test_two_of_six_are_not_all_there_was() -> None:
    """The figure that trec_eval, ir-measures and Haystack give."""
    found = score("ndcg", ("d1", "x", "d4", "y"), ("d1", "d2", "d3", "d4", "d5", "d6"))
    run, judged = (
        {"q": {"d1": 4.0, "x": 3.0, "d4": 2.0, "y": 1.0}},
        {"q": dict.fromkeys(["d1", "d2", "d3", "d4", "d5", "d6"], 1)},
    )

    assert found.value == pytest.approx(ir_measures.calc_aggregate([ir_measures.nDCG], judged, run)[ir_measures.nDCG])
    assert found.value < 0.5
    assert score("ndcg", ("d1", "d2"), ("d1", "d2", "d3", "d4", "d5", "d6")).value == pytest.approx(0.4935, abs=1e-4)
    assert score("ndcg", ("d1", "d2"), ("d1", "d2", "d3", "d4", "d5", "d6"), k=2).value == 1.0


GRADED = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 4), min_size=1)


@given(
    st.lists(st.sampled_from("abcdefghxyz"), min_size=1, max_size=11, unique=True),
    GRADED,
    st.sampled_from([None, 1, 3, 10]),
)
def test_graded_metrics_equal_trec_eval(contexts: list[str], grades: dict[str, int], k: int | None) -> None:
    sample = make_sample(contexts=[{"id": name} for name in contexts], gold_contexts=grades)
    run = {"q": {name: float(len(contexts) - index) for index, name in enumerate(contexts)}}
    for metric, base in (("ndcg", ir_measures.nDCG), ("map", ir_measures.AP), ("mrr", ir_measures.RR)):
        library = base if k is None else base @ k
        expected = ir_measures.calc_aggregate([library], {"q": grades}, run)[library]
        found = FAMILY.score(sample, {"metric": metric} if k is None else {"metric": metric, "k": k})
        assert found.value == pytest.approx(expected, abs=1e-12)


# Haystack 2.31 credits a passage that is retrieved twice twice, and its nDCG is then above 1.
@given(st.lists(st.sampled_from("abcdefghxyz"), min_size=1, max_size=11, unique=True), GRADED)
def test_they_equal_haystacks_evaluators(contexts: list[str], grades: dict[str, int]) -> None:
    from haystack import Document
    from haystack.components import evaluators as haystack

    wanted = {name: grade for name, grade in grades.items() if grade > 0}
    if not wanted:
        return
    truth = [[Document(id=name, content=name, score=float(grade)) for name, grade in wanted.items()]]
    retrieved = [[Document(id=f"{rank}", content=name) for rank, name in enumerate(contexts)]]
    sample = make_sample(
        contexts=contexts, gold_contexts=[{"text": name, "relevance": wanted[name]} for name in wanted]
    )
    pairs = (
        ("ndcg", haystack.DocumentNDCGEvaluator()),
        ("map", haystack.DocumentMAPEvaluator()),
        ("mrr", haystack.DocumentMRREvaluator()),
        ("recall_multi_hit", haystack.DocumentRecallEvaluator(mode="multi_hit")),
        ("recall_single_hit", haystack.DocumentRecallEvaluator(mode="single_hit")),
    )
    for metric, evaluator in pairs:
        if metric == "map" and not wanted.keys() <= set(contexts):
            continue  # Haystack 2.31 divides by the relevant passages found; trec_eval and Haystack 3 by all of them.
        expected = evaluator.run(ground_truth_documents=truth, retrieved_documents=retrieved)["score"]
        assert FAMILY.score(sample, {"metric": metric}).value == pytest.approx(expected, abs=1e-12), metric


def test_ids_outrank_texts_where_both_sides_have_them() -> None:
    by_id = make_sample(
        contexts=[{"id": "1", "text": "a chunk"}, {"id": "2", "text": "b"}],
        gold_contexts=[{"id": "1", "text": "the whole page"}],
    )
    by_text = make_sample(contexts=[{"id": "1", "text": "a"}], gold_contexts=["a"])

    assert FAMILY.score(by_id, {"metric": "mrr"}).value == 1.0
    assert FAMILY.score(by_id, {"metric": "mrr"}).extra["matched_by"] == "id"
    assert FAMILY.score(by_text, {"metric": "mrr"}).value == 1.0
    assert FAMILY.score(by_text, {"metric": "mrr"}).extra["matched_by"] == "text"


def test_an_id_that_comes_twice_counts_once() -> None:
    sample = make_sample(contexts=[{"id": "1"}, {"id": "1"}, {"id": "2"}], gold_contexts={"1": 1, "2": 1, "3": 1})

    assert FAMILY.score(sample, {"metric": "recall_multi_hit"}).value == pytest.approx(2 / 3)
    assert FAMILY.score(sample, {"metric": "map"}).value == pytest.approx((1 + 2 / 3) / 3)


MRR: dict[str, JSONValue] = {"metric": "mrr", "rules": IDS_IN_TEXTS}
DOCUMENTS = [{"id": "d1", "text": "one"}, {"id": "d2", "text": "two"}]


@pytest.mark.parametrize(
    ("contexts", "gold", "expected"),
    [
        (["d0", "d1"], DOCUMENTS, 0.5),
        (["d1", "d1"], {"d1": 1}, 1.0),
        (DOCUMENTS, ["d2"], 0.5),
        ([{"id": "1"}, {"id": "d2"}], ["d2", "d7"], 0.5),
        (["one", "two"], DOCUMENTS, 1.0),
        (["d0", "d9"], DOCUMENTS, 0.0),
        (["France", "Peru"], [{"id": "France", "text": "France"}], 1.0),
        (["17", "4"], [{"id": 4}], 0.5),
        ([{"id": 17}, {"id": 4}], ["4"], 0.5),
        (["d8", "d9"], {"d1": 1}, 0.0),
        ([{"id": "d8"}], ["d1", "d2"], 0.0),
    ],
)
def test_a_text_may_name_a_document_by_its_id(contexts: Any, gold: Any, expected: float) -> None:
    found = FAMILY.score(make_sample(contexts=contexts, gold_contexts=gold), MRR)

    assert found.value == expected


@pytest.mark.parametrize(
    ("contexts", "gold", "expected"),
    [
        (["d0", "d1"], DOCUMENTS, 0.0),
        (DOCUMENTS, ["d2"], 0.0),
        (["d1", "two"], DOCUMENTS, 0.5),
        (["one", "two"], DOCUMENTS, 1.0),
        (["d1"], {"d1": 1}, None),
    ],
)
def test_the_earlier_id_matches_texts_with_texts_alone(contexts: Any, gold: Any, expected: float | None) -> None:
    family, spec = find_evaluator("metrics-2026-11-01") or pytest.fail()
    sample, settings = make_sample(contexts=contexts, gold_contexts=gold), effective_settings(spec, {"metric": "mrr"})

    if expected is None:
        with pytest.raises(CannotScore, match="known by their ids alone"):
            family.score(sample, settings)
    else:
        assert family.score(sample, settings).value == expected


@pytest.mark.parametrize(
    ("contexts", "gold"),
    [
        (["a"], {"1": 1}),
        ([{"id": "1"}], ["a"]),
        ([{"id": "1"}, "a"], [{"id": "1", "text": "a"}]),
        (["d1", "two"], DOCUMENTS),
        (["d1", {"id": "d2", "text": "two"}], DOCUMENTS),
        ([*DOCUMENTS, "three"], ["d1"]),
        (DOCUMENTS, ["d1", "two"]),
    ],
)
def test_what_has_nothing_to_be_matched_by_has_no_score(contexts: Any, gold: Any) -> None:
    with pytest.raises(CannotScore) as refusal:
        FAMILY.score(make_sample(contexts=contexts, gold_contexts=gold), MRR)
    assert refusal.value.code == "wrong_type"


def test_every_ranking_metric_has_managed_profiles() -> None:
    names = {profile.name for profile in FAMILY.managed_profiles}
    for metric in ("recall", "recall-single-hit", "precision", "mrr", "map", "ndcg"):
        assert {f"{metric}-at-{k}" for k in (1, 3, 5, 10)} <= names
        assert (metric in names) is (metric != "precision")


@pytest.mark.parametrize("profile", [p for p in FAMILY.managed_profiles if not p.name.startswith("compute")], ids=str)
def test_perfect_empty_and_half(profile: ManagedProfile) -> None:
    k = profile.settings.get("k") or 4
    assert isinstance(k, int)
    gold = [f"d{rank}" for rank in range(k)]
    perfect = make_sample(contexts=gold, gold_contexts=gold)
    empty = make_sample(contexts=[], gold_contexts=gold)

    values = [FAMILY.score(sample, profile.settings).value for sample in (perfect, empty)]
    assert values == [1.0, 0.0]
    assert sum(values) / 2 == 0.5
