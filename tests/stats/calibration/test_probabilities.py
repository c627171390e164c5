"""Probabilities from scores: monotone, never certain, and as good on other rows as they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.stats.calibration.probabilities import (
    area_under_curve,
    compute_calibration,
    map_scores,
    map_without_fold,
    probability_map,
)
from evalsvc.stats.calibration.selection import LabelledScores


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_a_map_rises_and_is_never_certain(rows: list[tuple[float, bool]]) -> None:
    scores, labels = np.array([score for score, _ in rows]), np.array([label for _, label in rows])

    steps = probability_map(LabelledScores(scores, labels))

    assert [step.score for step in steps] == sorted({step.score for step in steps})
    assert [step.probability for step in steps] == sorted({step.probability for step in steps})
    assert 0 < steps[0].probability <= steps[-1].probability < 1
    said = map_scores(steps, np.array([-1.0, *np.sort(scores), 2.0]))
    assert (np.diff(said) >= 0).all()


def test_a_map_mends_what_scores_say_wrongly() -> None:
    rng = np.random.default_rng(4)
    scores = rng.random(1000)
    data = LabelledScores(scores, rng.random(1000) < scores**3)

    raw = compute_calibration(data.scores, data.is_good, 0.95, seed=1)
    mended = compute_calibration(map_without_fold(data, seed=1), data.is_good, 0.95, seed=1)

    assert raw.ece > 0.2
    assert mended.ece < 0.06
    assert mended.brier < raw.brier
    assert sum(group.good.n for group in mended.groups) == 1000


def test_perfect_probabilities_show_the_error_that_they_are_said_to_show() -> None:
    rng = np.random.default_rng(8)
    said = rng.random(200)

    found = [compute_calibration(said, rng.random(200) < said, 0.95, seed=i) for i in range(40)]

    assert np.mean([one.ece for one in found]) == pytest.approx(np.mean([one.ece_of_perfect for one in found]), rel=0.1)


def test_the_area_covers_what_it_is() -> None:
    rng = np.random.default_rng(6)
    covered = 0
    for _ in range(200):
        is_good = np.arange(80) % 2 == 0
        area = area_under_curve(LabelledScores(rng.normal(size=80) + is_good, is_good), 0.95)
        # Of two normal scores one apart: the normal distribution at the root of a half.
        covered += (area.lower or 0.0) <= 0.76025 <= (area.upper or 0.0)
    assert covered >= 180


def test_scores_in_perfect_order_prove_no_perfect_order() -> None:
    data = LabelledScores(np.arange(20) / 20, np.arange(20) >= 10)

    area = area_under_curve(data, 0.95)

    assert (area.value, area.upper, area.method) == (1.0, 1.0, "clopper-pearson")
    assert 0.6 < (area.lower or 0.0) < 0.75
