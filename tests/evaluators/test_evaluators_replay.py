"""Metric vectors replayed: random ones, against trec_eval, Haystack, sacrebleu and rouge-score, and by plain formulas.

The vectors have what data have: passages retrieved twice, wanted twice, without a name, grades of 0 and below, and lists
with nothing in them. Where a library differs, the difference is a choice that the docs name and a test here shows.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import pytrec_eval
import sacrebleu
from haystack import Document
from haystack.components import evaluators as haystack
from rouge_score.rouge_scorer import RougeScorer

from evaluators.base import Score
from evaluators.families.metrics import Metrics
from evaluators.retrieval.ranks import METRICS
from tests.evaluators.samples import make_sample

FAMILY = Metrics()
CUTS = (1, 3, 5, 10, 1000)
Graded = list[tuple[str, float | None]]


def score(metric: str, contexts: Any, gold_contexts: Any, k: int | None = None) -> Score:
    settings: dict[str, Any] = {"metric": metric} if k is None else {"metric": metric, "k": k}
    return FAMILY.score(make_sample(contexts=contexts, gold_contexts=gold_contexts), settings)


def by_formula(metric: str, found: list[str], grades: dict[str, float], k: int | None) -> float:
    """The definitions, each on one line, with nothing of the product's in them."""
    relevant = {name for name, grade in grades.items() if grade > 0}
    cut = found[:k]
    ranks = {name: rank for rank, name in reversed(list(enumerate(cut, start=1))) if name in relevant}
    hits = sorted(ranks.values())
    if not hits:
        return 0.0
    ideal = sorted((grades[name] for name in relevant), reverse=True)[:k]
    return {
        "recall_single_hit": lambda: 1.0,
        "recall_multi_hit": lambda: len(hits) / len(relevant),
        "precision_at_k": lambda: len(hits) / (k or 1),
        "mrr": lambda: 1 / hits[0],
        "map": lambda: sum(n / rank for n, rank in enumerate(hits, start=1)) / len(relevant),
        "ndcg": lambda: (
            sum(grades[name] / math.log2(rank + 1) for name, rank in ranks.items())
            / sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, start=1))
        ),
    }[metric]()


def vector(seed: int) -> tuple[list[str], Graded]:
    """What was retrieved and what was wanted, with repeats, blanks, and grades of every sort."""
    rng = random.Random(seed)
    names = [f"d{i}" for i in range(rng.choice([1, 3, 8, 20]))]
    found = rng.choices([*names, "x", "y", "", " "], k=rng.choice([0, 1, 3, 7, 25]))
    grades = [None, 0.0, 1.0, 1.0, 2.0, 3.0, -1.0, 0.5, 1e9, 1e-9]
    wanted = [(rng.choice([*names, ""]), rng.choice(grades)) for _ in range(rng.choice([0, 1, 2, 5, 9]))]
    return found, wanted


def best_grades(wanted: Graded) -> dict[str, float]:
    best: dict[str, float] = {}
    for name, grade in wanted:
        if name.strip():
            best[name] = max(1.0 if grade is None else grade, best.get(name, -math.inf))
    return best


def passage(name: str, by: str, grade: float | None = None) -> Any:
    """A passage that has a text, an id, or an id and a text that differs from side to side."""
    shown: dict[str, Any] = {"text": name} if by == "text" else {"id": name}
    if by == "both" and name.strip():
        shown["text"] = f"page of {name}" if grade is None else f"chunk of {name}"
    return shown if grade is None else {**shown, "relevance": grade}


@pytest.mark.parametrize("by", ["text", "id", "both"])
@pytest.mark.parametrize("seed", range(60))
def test_they_equal_their_formulas(seed: int, by: str) -> None:
    found, wanted = vector(seed)
    named, grades = [name for name in found if name.strip()], best_grades(wanted)
    contexts = [passage(name, by) for name in found]
    gold = [passage(name, by, grade) for name, grade in wanted]
    for metric in METRICS:
        for k in (None, *CUTS) if metric != "precision_at_k" else CUTS:
            expected = by_formula(metric, named, grades, k)
            assert score(metric, contexts, gold, k).value == pytest.approx(expected, abs=1e-12), (metric, k)


TREC = {
    "recall_multi_hit": ("set_recall", "recall_{}"),
    "recall_single_hit": (None, "success_{}"),
    "precision_at_k": (None, "P_{}"),
    "mrr": ("recip_rank", None),
    "map": ("map", "map_cut_{}"),
    "ndcg": ("ndcg", "ndcg_cut_{}"),
}
ASKED = {"set_recall", "recip_rank", "map", "ndcg"} | {
    f"{name}.1,3,5,10" for name in ("recall", "success", "P", "map_cut", "ndcg_cut")
}


@pytest.mark.parametrize("seed", range(40))
def test_they_equal_trec_eval(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"d{i}" for i in range(rng.choice([1, 3, 8, 20]))]
    found = rng.sample([*names, "x", "y", "z"], rng.randint(1, len(names)))
    # pytrec_eval does not return for some lists with grades below 0; the formulas above have them.
    grades = {name: rng.choice([0, 1, 2, 5]) for name in rng.sample(names, rng.randint(1, len(names)))}
    # trec_eval orders a run by score, and passages of equal scores by name; ranks are what these have as scores.
    run = {name: float(-rank) for rank, name in enumerate(found)}
    told = pytrec_eval.RelevanceEvaluator({"q": grades}, ASKED).evaluate({"q": run})["q"]
    contexts = [{"id": name} for name in found]
    for metric, (whole, cut) in TREC.items():
        asked = [(None, whole)] if whole else []
        asked += [(k, cut.format(k)) for k in (1, 3, 5, 10)] if cut else []
        for k, name in asked:
            assert score(metric, contexts, grades, k).value == pytest.approx(told[name], abs=1e-9), name


def haystack_says(found: list[str], wanted: list[str], grades: dict[str, float] | None = None) -> dict[str, float]:
    truth = [Document(id=f"w{i}", content=name, score=(grades or {}).get(name)) for i, name in enumerate(wanted)]
    retrieved = [Document(id=f"r{i}", content=name) for i, name in enumerate(found)]
    asked: dict[str, Any] = {
        "recall_multi_hit": haystack.DocumentRecallEvaluator(mode="multi_hit"),
        "recall_single_hit": haystack.DocumentRecallEvaluator(mode="single_hit"),
        "mrr": haystack.DocumentMRREvaluator(),
        "map": haystack.DocumentMAPEvaluator(),
        "ndcg": haystack.DocumentNDCGEvaluator(),
    }
    return {
        metric: one.run(ground_truth_documents=[truth], retrieved_documents=[retrieved])["individual_scores"][0]
        for metric, one in asked.items()
    }


@pytest.mark.parametrize("seed", range(40))
def test_they_equal_haystack_where_it_has_the_same_rules(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"d{i}" for i in range(rng.choice([1, 3, 8]))]
    wanted = rng.sample(names, rng.randint(1, len(names)))
    found = rng.sample([*names, "x", "y"], rng.randint(1, len(names) + 2))
    repeated = found + rng.choices(found, k=rng.choice([0, 2]))
    grades = rng.choice([None, {name: float(rng.choice([1, 2, 5])) for name in wanted}])
    said = haystack_says(repeated, wanted, grades)
    gold = [{"text": name, "relevance": (grades or {}).get(name)} for name in wanted]
    # Of a passage that comes twice both come out of Haystack's sums, and its precision is over the hits alone.
    same = {"recall_multi_hit", "recall_single_hit", "mrr"}
    same |= {"ndcg"} if len(set(repeated)) == len(repeated) else set()
    same |= {"map"} if len(set(repeated)) == len(repeated) and set(wanted) <= set(found) else set()
    for metric in same:
        assert score(metric, repeated, gold).value == pytest.approx(said[metric], abs=1e-12), metric


def test_what_is_retrieved_twice_counts_once_and_haystack_counts_it_twice() -> None:
    found, wanted = ["a", "a", "b"], ["a", "b"]
    assert haystack_says(found, wanted)["ndcg"] > 1
    assert score("ndcg", found, wanted).value == pytest.approx(by_formula("ndcg", found, {"a": 1, "b": 1}, None))


def test_what_is_not_retrieved_counts_in_average_precision_and_not_in_haystacks() -> None:
    found, wanted = ["a", "x"], ["a", "b"]
    assert haystack_says(found, wanted)["map"] == 1.0
    assert score("map", found, wanted).value == 0.5


def test_a_grade_of_zero_is_not_relevant_as_in_trec_eval_and_is_to_haystack() -> None:
    said = haystack_says(["a"], ["a", "b"], {"a": 0.0, "b": 1.0})
    gold = [{"text": "a", "relevance": 0}, {"text": "b", "relevance": 1}]
    assert (said["mrr"], said["recall_multi_hit"]) == (1.0, 0.5)
    assert [score(metric, ["a"], gold).value for metric in ("mrr", "recall_multi_hit", "map", "ndcg")] == [0.0] * 4


def test_ranks_are_the_order_that_was_sent_whatever_scores_a_retriever_gave() -> None:
    """A run of trec_eval has scores, and of equal ones the later name first; ours has ranks."""
    told = pytrec_eval.RelevanceEvaluator({"q": {"a": 1}}, {"recip_rank"}).evaluate({"q": {"a": 1.0, "b": 1.0}})
    contexts = [{"id": "a", "score": 0.1}, {"id": "b", "score": 0.9}]
    assert told["q"]["recip_rank"] == 0.5
    assert score("mrr", contexts, {"a": 1}).value == 1.0


@pytest.mark.parametrize("blank", ["", {"text": " "}, {"id": ""}])
def test_what_has_neither_text_nor_id_changes_nothing(blank: Any) -> None:
    found = score("mrr", [blank, {"id": "x"}, {"id": "a"}], {"a": 1})
    assert (found.value, found.extra["matched_by"]) == (0.5, "id")
    assert score("mrr", [blank, "x", "a"], ["a", blank]).value == 0.5


WORDS = ("the", "a", "cat", "dog", "sat", "on", "mat", "Ähre", "d'été", "3.5", "hat.", "Big,", "猫", "кот")


def sentences(seed: int) -> tuple[str, list[str]]:
    rng = random.Random(seed)
    golds = [" ".join(rng.choices(WORDS, k=rng.choice([0, 1, 3, 12]))) for _ in range(rng.choice([1, 2, 4]))]
    said = rng.choice([" ".join(rng.choices(WORDS, k=rng.choice([1, 5, 12]))), rng.choice(golds), ""])
    return said, golds


@pytest.mark.parametrize("seed", range(80))
def test_texts_of_several_references_equal_the_libraries(seed: int) -> None:
    output, golds = sentences(seed)
    sample = make_sample(output=output, golds=golds)
    bleu, chrf = (FAMILY.score(sample, {"metric": metric}) for metric in ("bleu", "chrf"))
    library = sacrebleu.sentence_bleu(output, golds, use_effective_order=True).score / 100
    chars = min(sacrebleu.sentence_chrf(output, golds).score / 100, 1.0)
    if is_right_silence(output, golds):
        assert (library, chars) == (0.0, 0.0)
        library = chars = 1.0
    assert bleu.extra["bleu"]["score"] == pytest.approx(min(library, 1.0), abs=1e-12)  # type: ignore[call-overload, index]
    assert bleu.value == round(min(library, 1.0), 2)
    assert chrf.value == pytest.approx(chars, abs=1e-12)
    # rouge-score's own tokenizer knows ASCII alone; the docs say that ours knows every script.
    plain, plains = ascii_of(output), [ascii_of(gold) for gold in golds]
    rouge = RougeScorer(["rouge1", "rouge2", "rougeL"]).score_multi(plains, plain)
    for metric, said in rouge.items():
        found = FAMILY.score(make_sample(output=plain, golds=plains), {"metric": metric})
        wanted = 1.0 if is_right_silence(plain, plains) else said.fmeasure
        assert found.value == pytest.approx(wanted, abs=1e-12), metric


def is_right_silence(output: str, golds: list[str]) -> bool:
    """Nothing was said where that is an accepted answer: right here, and 0 by the libraries."""
    return not output.strip() and any(not gold.strip() for gold in golds)


def ascii_of(text: str) -> str:
    return " ".join(word for word in text.split() if word.isascii())
