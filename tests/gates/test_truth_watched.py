"""A gate on `truth` that is asked at each of 20 looks while labels come in passes and fails wrongly in 5 % at most."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import numpy as np
import pytest

from evalsvc.annotations.models import AnnotationCriteria
from evalsvc.gates.bodies import GateRule, Looks
from evalsvc.gates.truth import TruthRule
from evalsvc.reviews.models import Review
from evalsvc.reviews.truth import DrawnScore, LabelledDraw

RUNS, LOOKS, N_LABELS, POPULATION, ALPHA = 60, 20, 200, 1000, 0.05
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def draw_labels(rng: np.random.Generator, rate: float, accuracy: float) -> tuple[list[bool], list[bool]]:
    """What people say of all scores, in the order of the draw, and what an evaluator says."""
    labels = rng.random(POPULATION) < rate
    verdicts = np.where(rng.random(POPULATION) < accuracy, labels, ~labels)
    return labels.tolist(), verdicts.tolist()


def build_draw(labels: list[bool], verdicts: list[bool], n: int) -> LabelledDraw:
    criteria = AnnotationCriteria(id=uuid.UUID(int=1), annotation_type="binary")
    question = {"id": str(criteria.pk), "name": "right", "description": None, "annotation_type": "binary"}
    review = Review(criteria=[question | {"categories": None}], sample={}, created_at=NOW)
    scores: dict[object, DrawnScore] = {
        i: DrawnScore(i, float(verdict), verdict, None, None, NOW, None) for i, verdict in enumerate(verdicts)
    }
    counts = {"n_items": N_LABELS, "n_since": 0, "n_window": POPULATION, "n_left_out": 0, "end": POPULATION}
    return LabelledDraw(
        criteria, review, scores, dict(enumerate(labels[:n])), range(n), [], has_changed=False, **counts
    )


def judge_while_watching(labels: list[bool], verdicts: list[bool], rate: float, looks: Looks) -> set[str]:
    """The outcomes of rules on both sides of the truth, at any look, as if it were asked again after ten labels."""
    outcomes = set()
    for n in range(N_LABELS // LOOKS, N_LABELS + 1, N_LABELS // LOOKS):
        draw = build_draw(labels, verdicts, n)
        judged = TruthRule(GateRule("truth", at_least=rate, looks=looks), draw).judge(ALPHA, ALPHA)
        outcomes.add(judged.outcome)
    return outcomes


def count_wrong(looks: Looks, rate: float, accuracy: float, runs: int = RUNS) -> tuple[int, int]:
    """In how many runs it passes, and fails, at some look. The truth is on the limit: either is wrong."""
    rng = np.random.default_rng([2026, round(100 * rate), round(100 * accuracy)])
    found = [judge_while_watching(*draw_labels(rng, rate, accuracy), rate, looks) for _ in range(runs)]
    return sum("pass" in outcomes for outcomes in found), sum("fail" in outcomes for outcomes in found)


@pytest.mark.parametrize(("rate", "accuracy"), [(0.8, 0.9), (0.5, 0.6)])
def test_it_is_right_at_all_looks_together(rate: float, accuracy: float) -> None:
    passes, fails = count_wrong("watched", rate, accuracy)
    assert max(passes, fails) <= ALPHA * RUNS


def test_one_look_is_wrong_if_it_is_repeated() -> None:
    """What the default was before: people who label on until the gate passes will see it pass."""
    passes, fails = count_wrong("one", 0.8, 0.9)
    assert max(passes, fails) > ALPHA * RUNS
