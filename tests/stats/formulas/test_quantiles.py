"""Quantiles by order statistics: exact, for any distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from evalsvc.stats.formulas.quantiles import compute_quantiles, needed, ranks


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 7, 30, 100, 400, 5000])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_ranks_are_the_closest_whose_tails_are_small_enough(q: float, n: int, level: float) -> None:
    lower, upper = ranks(n, q, level)
    tail = (1 - level) / 2

    assert binom.cdf(lower - 1, n, q) <= tail * (1 + 1e-9)
    assert binom.cdf(lower, n, q) > tail * (1 - 1e-9)
    assert binom.sf(upper - 1, n, q) <= tail * (1 + 1e-9)
    assert binom.sf(upper - 2, n, q) > tail * (1 - 1e-9)


@pytest.mark.parametrize("q", [0.5, 0.95, 0.99])
def test_it_covers_the_quantile_of_a_heavy_tail(q: float) -> None:
    rng = np.random.default_rng(1)
    truth = float(np.quantile(rng.lognormal(0, 2, 4_000_000), q))
    hits = 0
    for _ in range(600):
        (found,) = compute_quantiles(rng.lognormal(0, 2, 500), at=(q,))
        assert found.lower is not None
        assert found.upper is not None
        hits += found.lower <= truth <= found.upper

    assert hits / 600 >= 0.93


def test_the_value_is_the_smallest_that_enough_scores_do_not_exceed() -> None:
    rng = np.random.default_rng(2)
    for n in (1, 2, 19, 20, 21, 100):
        row = rng.random(n)
        for found in compute_quantiles(row):
            assert found.value is not None
            assert (row <= found.value).sum() >= found.q * n - 1e-9
            assert (row < found.value).sum() < found.q * n


@pytest.mark.parametrize("q", [0.5, 0.95, 0.99])
def test_it_says_how_many_scores_it_takes(q: float) -> None:
    n = needed(q, 0.95)
    few, enough = (compute_quantiles(np.arange(float(size)), at=(q,))[0] for size in (n - 1, n))

    assert few.lower is None or few.upper is None
    assert enough.lower is not None
    assert enough.upper is not None
    assert few.n_needed == n


def test_names_and_empty_rows() -> None:
    found = compute_quantiles([], at=(0.5, 0.95, 0.999))

    assert [one.name for one in found] == ["p50", "p95", "p99.9"]
    assert {(one.value, one.lower, one.upper, one.n) for one in found} == {(None, None, None, 0)}
    with pytest.raises(ValueError, match="`q`"):
        compute_quantiles([1.0], at=(1.0,))
