"""The difference of two means that were measured apart: a published example, and how often it is right."""

from __future__ import annotations

import numpy as np
import pytest

from evalsvc.stats.formulas.differences import difference_of_intervals
from evalsvc.stats.formulas.intervals import wilson


@pytest.mark.parametrize(
    ("first", "second", "ends"),
    [
        # Newcombe (1998), table II, method 10.
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.0582, 0.8062)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
        ((10, 10), (0, 10), (0.6075, 1.0)),
    ],
)
def test_it_is_newcombe_s_with_wilson_s(
    first: tuple[int, int], second: tuple[int, int], ends: tuple[float, float]
) -> None:
    value, found = difference_of_intervals(
        (first[0] / first[1], wilson(*first)), (second[0] / second[1], wilson(*second))
    )

    assert value == pytest.approx(first[0] / first[1] - second[0] / second[1])
    assert found == pytest.approx(ends, abs=6e-5)


def test_it_turns_its_sign_with_the_sides() -> None:
    one, two = (0.8, wilson(56, 70)), (0.6, wilson(48, 80))
    there, (low, high) = difference_of_intervals(one, two)
    back, ends = difference_of_intervals(two, one)

    assert (there, low, high) == pytest.approx((-back, -ends[1], -ends[0]))


def test_it_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(17)
    hits = 0
    for n_pass, m_pass in zip(rng.binomial(40, 0.9, 1000), rng.binomial(90, 0.7, 1000), strict=True):
        _, (low, high) = difference_of_intervals((n_pass / 40, wilson(n_pass, 40)), (m_pass / 90, wilson(m_pass, 90)))
        hits += low <= 0.2 <= high
    assert 0.93 <= hits / 1000 <= 0.97
