"""Wilson, Clopper-Pearson and Hoeffding, against scipy and against their definitions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm

from evalsvc.stats import clopper_pearson, hoeffding, wilson
from evalsvc.stats.formulas.intervals import normal_quantile, z_quantile

LEVELS = (0.5, 0.8, 0.95, 0.999)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 20), (3, 20), (20, 20), (500, 1000), (999, 1000)])
def test_they_equal_scipy(successes: int, n: int, level: float) -> None:
    test = binomtest(successes, n)
    for ours, name in ((wilson, "wilson"), (clopper_pearson, "exact")):
        expected = test.proportion_ci(level, method=name)

        assert ours(successes, n, level) == pytest.approx((expected.low, expected.high), abs=1e-12)


@settings(derandomize=True)
@given(st.integers(1, 500), st.data())
def test_they_hold_the_share_and_have_a_width(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    for interval in (wilson, clopper_pearson):
        lower, upper = interval(successes, n)

        assert 0.0 <= lower <= successes / n <= upper <= 1.0
        assert lower < upper


@settings(derandomize=True)
@given(st.integers(1, 300), st.data())
def test_they_mirror(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    for interval in (wilson, clopper_pearson):
        lower, upper = interval(successes, n)

        assert interval(n - successes, n) == pytest.approx((1.0 - upper, 1.0 - lower), abs=1e-12)


def test_clopper_pearson_inverts_the_binomial_tests() -> None:
    lower, upper = clopper_pearson(7, 40, 0.9)

    assert binom.sf(6, 40, lower) == pytest.approx(0.05)
    assert binom.cdf(7, 40, upper) == pytest.approx(0.05)


def test_wilson_inverts_the_score_test() -> None:
    for end in wilson(7, 40):
        assert abs(7 / 40 - end) / math.sqrt(end * (1 - end) / 40) == pytest.approx(norm.ppf(0.975))


def test_wilson_takes_an_effective_sample_size() -> None:
    seen = wilson(30, 40)
    seen_of_a_finite_set = wilson(30 * 2.5, 40 * 2.5)

    assert seen[0] < seen_of_a_finite_set[0] < 0.75 < seen_of_a_finite_set[1] < seen[1]


@pytest.mark.parametrize(("successes", "n"), [(-1, 10), (11, 10), (0, 0), (math.nan, 10)])
def test_they_refuse_impossible_counts(successes: float, n: float) -> None:
    with pytest.raises(ValueError, match="`successes` must lie between 0 and `n`"):
        wilson(successes, n)
    with pytest.raises(ValueError, match="`successes` must lie between 0 and `n`"):
        clopper_pearson(successes, n)


def test_hoeffding_follows_its_formula() -> None:
    lower, upper = hoeffding(0.5, 200, (0.0, 1.0))

    assert upper - 0.5 == pytest.approx(math.sqrt(math.log(40.0) / 400.0))
    assert 0.5 - lower == pytest.approx(upper - 0.5)


def test_hoeffding_scales_with_the_range() -> None:
    lower, upper = hoeffding(0.5, 200, (0.0, 1.0))

    assert hoeffding(3.0, 200, (1.0, 5.0)) == pytest.approx((1.0 + 4.0 * lower, 1.0 + 4.0 * upper))


def test_hoeffding_stays_within_the_range() -> None:
    assert hoeffding(0.99, 3, (0.0, 1.0))[1] == 1.0
    assert hoeffding(-0.9, 3, (-1.0, 1.0))[0] == -1.0


def test_hoeffding_is_the_widest() -> None:
    for successes in (0, 10, 50, 100):
        lower, upper = hoeffding(successes / 100, 100, (0.0, 1.0))
        exact = clopper_pearson(successes, 100)

        assert lower <= exact[0]
        assert upper >= exact[1]


@pytest.mark.parametrize("level", LEVELS)
def test_the_normal_quantile_is_exact(level: float) -> None:
    assert z_quantile(level) == pytest.approx(norm.ppf((1.0 + level) / 2.0), rel=1e-12)
    assert normal_quantile(level) == pytest.approx(norm.ppf(level), abs=1e-12)


def test_z_keeps_its_digits_near_certainty() -> None:
    assert z_quantile(1.0 - 2.0**-50) == pytest.approx(norm.isf(2.0**-51), rel=1e-12)
