"""The interval that goes with a verdict: as powerful as McNemar's exact test, and right where differences are skewed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from evalsvc.stats.pairs.comparison import new_data_difference, sign_test
from evalsvc.stats.pairs.paired import Differences

LEVELS = (0.95, 0.9925, 0.999625)


def binary_counts(n: int) -> list[tuple[int, int]]:
    return [(plus, minus) for plus in range(n + 1) for minus in range(n + 1 - plus)]


@pytest.mark.parametrize("level", LEVELS)
def test_of_zeros_and_ones_it_leaves_out_zero_exactly_where_mcnemars_test_does(level: float) -> None:
    for plus, minus in binary_counts(40):
        pairs = Differences(40, float(plus - minus), float(plus + minus), plus, minus)
        found = new_data_difference(pairs, level=level, binary=True, reach=1.0)
        assert found.lower is not None and found.upper is not None
        is_rejected = sign_test(pairs, binary=True) <= 1.0 - level
        assert (found.lower > 0.0 or found.upper < 0.0) == is_rejected, pairs
        assert found.lower <= pairs.mean <= found.upper
        mirrored = new_data_difference(
            Differences(40, -pairs.total, pairs.squares, minus, plus), level=level, binary=True, reach=1.0
        )
        assert (mirrored.lower, mirrored.upper) == (-found.upper, -found.lower)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("plus", "minus"), [(0.02, 0.0), (0.1, 0.03), (0.225, 0.075), (0.3, 0.2), (0.6, 0.1)])
def test_the_exact_end_covers(plus: float, minus: float, level: float) -> None:
    n, missed = 60, 0.0
    for n_plus, n_minus in binary_counts(n):
        weight = binom.pmf(n_plus, n, plus) * binom.pmf(n_minus, n - n_plus, minus / (1.0 - plus))
        if weight > 1e-9:
            pairs = Differences(n, float(n_plus - n_minus), float(n_plus + n_minus), n_plus, n_minus)
            found = new_data_difference(pairs, level=level, binary=True, reach=1.0)
            assert found.lower is not None and found.upper is not None
            missed += 0.0 if found.lower <= plus - minus <= found.upper else weight
    assert missed <= 1.0 - level


@pytest.mark.parametrize("level", [0.9, 0.95, 0.9995])
@pytest.mark.parametrize("share", [0.005, 0.01, 0.02, 0.05])
@pytest.mark.parametrize("n", [200, 1000, 3000])
def test_rare_costs_are_called_better_as_seldom_as_one_side_may_err(n: int, share: float, level: float) -> None:
    """Costs of 1, some of which are a hundred times as high, against their mean each time."""
    mean, wrong = 1.0 + 99.0 * share, 0.0
    cheap, dear = (mean - 1.0) / 100.0, (mean - 100.0) / 100.0
    for n_dear in range(int(4 * n * share) + 20):
        n_cheap = n - n_dear
        total, squares = n_cheap * cheap + n_dear * dear, n_cheap * cheap**2 + n_dear * dear**2
        found = new_data_difference(
            Differences(n, total, squares, n_cheap, n_dear), level=level, binary=False, reach=1.0
        )
        assert found.lower is not None
        wrong += float(binom.pmf(n_dear, n, share)) if found.lower > 0.0 else 0.0
    assert wrong <= 1.1 * (1.0 - level) / 2.0


def test_even_differences_are_not_corrected() -> None:
    row = np.tile([0.3, -0.3], 50)
    pairs = Differences(100, float(row.sum()), float(row @ row), 50, 50)
    found = new_data_difference(pairs, level=0.95, binary=False, reach=1.0)

    assert found.lower is not None and found.upper is not None
    assert found.lower == pytest.approx(-found.upper)


def test_differences_too_small_to_be_squared_have_an_interval() -> None:
    found = new_data_difference(Differences(10, 7e-200, 0.0, 8, 1), level=0.95, binary=False, reach=1.0)

    assert found.lower is not None and found.lower <= 0.0
