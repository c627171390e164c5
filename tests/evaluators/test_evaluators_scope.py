"""Extractive answers: right text, and right place."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.base import CannotScore, Score
from evaluators.families.metrics import Metrics
from tests.evaluators.samples import make_sample

GOLDS = [
    {"text": "Paris", "document_id": "d1", "start": 10, "end": 15},
    {"text": "Paris, France", "document_id": "d2", "start": 3},
]


def score(said: Any, golds: Any = None, *, metric: str = "squad_em", scope: str = "any") -> Score:
    sample = make_sample(output=said, golds=golds or GOLDS)
    return Metrics().score(sample, {"metric": metric, "answer_scope": scope})


@pytest.mark.parametrize(
    ("said", "any_", "document", "context"),
    [
        ({"text": "Paris", "document_id": "d1", "start": 10, "end": 15}, 1, 1, 1),
        ({"text": "Paris", "document_id": "d1", "start": 40, "end": 45}, 1, 1, 0),
        ({"text": "Paris", "document_id": "d2", "start": 3, "end": 8}, 1, 0, 0),
        ({"text": "Paris France", "document_id": "d2", "start": 3, "end": 16}, 1, 1, 1),
        ({"text": "Paris", "document_id": "d9", "start": 10, "end": 15}, 1, 0, 0),
        ({"text": "Lyon", "document_id": "d1", "start": 10, "end": 15}, 0, 0, 0),
        ({"text": "Paris", "document_id": "d1", "start": 14}, 1, 1, 1),
        ({"text": "Paris", "document_id": "d1", "start": 15}, 1, 1, 0),
    ],
)
def test_an_answer_counts_where_it_must_stand(said: Any, any_: int, document: int, context: int) -> None:
    found = [score(said, scope=scope).value for scope in ("any", "document", "context")]

    assert found == [any_, document, context]


def test_f1_is_of_the_answers_in_scope() -> None:
    said = {"text": "Paris", "document_id": "d2", "start": 3}
    found = score(said, metric="squad_f1", scope="document")

    assert found.value == pytest.approx(2 / 3)
    assert (found.extra["gold_index"], found.extra["n_in_scope"]) == (1, 1)
    assert score(said, metric="squad_f1").value == 1.0


def test_squads_own_offsets_need_no_document() -> None:
    golds = {"text": ["Paris"], "answer_start": [10]}

    assert score({"text": "Paris", "start": 10}, golds, scope="context").value == 1.0
    assert score({"text": "Paris", "start": 99}, golds, scope="context").value == 0.0


@pytest.mark.parametrize("scope", ["document", "context"])
@pytest.mark.parametrize(
    ("said", "golds"), [("Paris", GOLDS), ({"text": "Paris", "document_id": "d1", "start": 1}, ["Paris"])]
)
def test_an_answer_without_a_place_has_no_score_where_one_is_needed(said: Any, golds: Any, scope: str) -> None:
    with pytest.raises(CannotScore) as refusal:
        score(said, golds, scope=scope)
    assert refusal.value.code == "missing_input"


def test_only_metrics_of_answers_have_a_scope() -> None:
    problems = Metrics().check_settings({"metric": "bleu", "answer_scope": "document"})

    assert [problem.pointer for problem in problems] == ["/answer_scope"]
    assert not Metrics().check_settings({"metric": "squad_f1", "answer_scope": "context"})
