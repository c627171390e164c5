"""The interval of a history against the limit of resampling, and what leaves it as it is."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from evalsvc.stats import history_interval
from tests.stats.reference import TAILS, Row, fine_grid, standard_error
from tests.stats.samples import continuous, ends, sparse

# What it equals


@pytest.mark.parametrize("n", [2, 3, 10, 29, 100, 1000])
def test_it_equals_binomial_quantiles(n: int) -> None:
    for k in range(1, n, max(1, n // 40)):
        interval = history_interval(np.repeat([1.0, 0.0], [k, n - k]))

        assert ends(interval) == np.round(binom.ppf(TAILS, n, k / n) / n, 9).tolist()


@pytest.mark.parametrize("level", [0.001, 0.5, 0.8, 0.9, 0.99, 0.999999])
def test_it_equals_binomial_quantiles_at_every_level(level: float) -> None:
    tail = (1.0 - level) / 2.0
    for n, k in ((4, 2), (50, 1), (200, 150)):
        expected = binom.ppf([tail, 0.5, 1.0 - tail], n, k / n) / n

        assert ends(history_interval(np.repeat([1.0, 0.0], [k, n - k]), level)) == np.round(expected, 9).tolist()


def test_it_maps_two_values_that_are_not_zero_and_one() -> None:
    scores = np.repeat([2.0, 4.5], [30, 70])

    expected = 2.0 + 2.5 * binom.ppf(TAILS, 100, 0.7) / 100

    assert ends(history_interval(scores)) == pytest.approx(expected.tolist(), abs=1e-9)


def shapes(n: int, seed: int) -> dict[str, Row]:
    rng = np.random.default_rng([seed, n])
    nearly_sure = np.where(rng.random(n) < 0.7, rng.beta(200, 1, n), rng.beta(1, 200, n))
    one_odd = rng.integers(0, 2, n).astype(float)
    one_odd[0] = 0.3731
    return {
        "uniform": rng.random(n),
        "skewed": rng.beta(8, 2, n),
        "exponential": rng.exponential(size=n),
        "heavy tail": rng.pareto(1.5, n),
        "a few of n": sparse(n, min(5, n // 2)),
        "eleven of n": sparse(n, min(11, n - 1)),
        "fifteen of n": sparse(n, min(15, n - 1)),
        "nearly sure": nearly_sure,
        "one odd score": one_odd,
        "three values off any lattice": rng.choice([0.0, 1 / math.pi, 1.0], n),
    }


@pytest.mark.parametrize("n", [8, 19, 20, 30, 100, 1000])
def test_it_errs_by_less_than_a_hundredth_of_a_standard_error(n: int) -> None:
    levels = 2**13 + 1 if n == 1000 else 2**15 + 1
    for name, scores in shapes(n, seed=7).items():
        error = np.abs(np.subtract(ends(history_interval(scores)), fine_grid(scores, levels))).max()

        assert error <= 0.01 * standard_error(scores), name


def test_it_stays_accurate_for_awkward_histories() -> None:
    rng = np.random.default_rng(11)
    for i in range(90):
        n = int(rng.integers(20, 200))
        noise = rng.normal(0.0, 10.0 ** rng.uniform(-4, -0.7), n)
        scores = (
            rng.integers(0, 2 + 3 * (i % 2), n) + noise,
            rng.choice(rng.random(int(rng.integers(3, 9))), n),
            np.concatenate((np.zeros(n - 14), rng.random(14) ** rng.uniform(0.1, 3.0))),
        )[i % 3]

        error = np.abs(np.subtract(ends(history_interval(scores)), fine_grid(scores, 2**13 + 1))).max()

        assert error <= 0.01 * standard_error(scores), (i, n)


def test_the_truth_it_is_compared_with_has_converged() -> None:
    for name, scores in shapes(100, seed=7).items():
        coarse, fine = fine_grid(scores, 2**14 + 1), fine_grid(scores, 2**15 + 1)

        assert np.abs(np.subtract(coarse, fine)).max() <= 0.001 * standard_error(scores), name


@pytest.mark.parametrize("level", [0.0001, 0.05, 0.11, 0.12, 0.13, 0.5, 0.8, 0.99, 0.999, 0.99999])
def test_it_is_accurate_at_every_level(level: float) -> None:
    tail = (1.0 - level) / 2.0
    scores = continuous(60)

    expected = fine_grid(scores, 2**14 + 1, (tail, 0.5, 1.0 - tail))

    assert np.abs(np.subtract(ends(history_interval(scores, level)), expected)).max() <= 0.01 * standard_error(scores)


def test_it_lies_closer_to_the_limit_than_ten_thousand_resamples() -> None:
    scores = np.random.default_rng(5).beta(8, 2, 200)
    rng = np.random.default_rng(6)
    resampled = np.quantile(rng.choice(scores, (10_000, 200)).mean(axis=1), TAILS)
    limit = fine_grid(scores, 2**14 + 1)

    ours = np.abs(np.subtract(ends(history_interval(scores)), limit)).max()

    assert ours < np.abs(resampled - limit).max() < 0.1 * standard_error(scores)


def test_it_agrees_with_arch() -> None:
    from arch.bootstrap import IIDBootstrap

    for scores in (continuous(50), sparse(80, 4), np.tile([1.0, 2.0, 3.0, 5.0], 10)):
        expected = IIDBootstrap(scores, seed=1).conf_int(np.mean, 4000, method="percentile", size=0.95)[:, 0]
        lower, _, upper = ends(history_interval(scores))

        assert np.abs(expected - [lower, upper]).max() < 0.15 * standard_error(scores)


# What does not change it


def test_it_does_not_depend_on_the_order() -> None:
    rng = np.random.default_rng(2)
    for scores in (continuous(7), continuous(12), continuous(300), sparse(300, 4), np.arange(300.0) % 5):
        assert ends(history_interval(rng.permutation(scores))) == ends(history_interval(scores))
        assert history_interval(scores[::-1]) == history_interval(scores)


@settings(derandomize=True)
@given(
    st.lists(st.integers(0, 20), min_size=2, max_size=40),
    st.floats(0.1, 50.0),
    st.floats(-100.0, 100.0),
)
def test_it_moves_and_stretches_with_the_scores(grades: list[int], factor: float, shift: float) -> None:
    scores = np.array(grades, dtype=float)

    moved = history_interval(scores * factor + shift)

    assert ends(moved) == pytest.approx([e * factor + shift for e in ends(history_interval(scores))], abs=1e-6)


@settings(derandomize=True)
@given(
    st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, 0.5]), min_size=2, max_size=60),
    st.floats(0.01, 0.9999999),
)
def test_it_always_answers_within_the_scores(scores: list[float], level: float) -> None:
    lower, median, upper = ends(history_interval(scores, level))

    slack = 1e-9 + 1e-11 * max(map(abs, scores))
    assert min(scores) - slack <= lower <= median <= upper <= max(scores) + slack


def test_it_widens_with_the_level() -> None:
    for scores in (continuous(12), continuous(100), np.repeat([0.0, 1.0], 50)):
        widths = [np.ptp(ends(history_interval(scores, level))) for level in (0.5, 0.8, 0.9, 0.95, 0.99, 0.9999)]

        assert widths == sorted(widths)


def test_it_gives_the_same_bytes_from_eight_threads() -> None:
    histories = [continuous(7), continuous(15), continuous(500), sparse(500, 5), np.arange(100.0) % 5, np.eye(1, 50)[0]]
    alone = [repr(history_interval(scores)) for scores in histories]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda _: [repr(history_interval(scores)) for scores in histories], range(64)))

    assert all(answer == alone for answer in together)


def test_it_rounds_to_nine_decimals() -> None:
    for scores in (continuous(7), continuous(15), continuous(100)):
        assert ends(history_interval(scores)) == [round(end, 9) for end in ends(history_interval(scores))]


def test_it_rounds_large_scores_to_twelve_digits() -> None:
    scores = continuous(100) * 1e7

    assert ends(history_interval(scores)) == [round(end, 5) for end in ends(history_interval(scores))]


def test_it_never_answers_minus_zero() -> None:
    lower, _, _ = ends(history_interval([-0.0] * 99 + [1.0]))

    assert math.copysign(1.0, lower) == 1.0


def test_it_survives_scores_of_extreme_size() -> None:
    for scale in (1e-300, 1e-12, 1e60):
        lower, median, upper = ends(history_interval(continuous(50) * scale))

        assert all(map(math.isfinite, (lower, median, upper)))
        assert lower <= median <= upper


def test_it_takes_rounding_errors_for_ties() -> None:
    tenths = np.array([0.1 * i for i in range(1, 10)] * 5)
    exact = np.array([i / 10 for i in range(1, 10)] * 5)

    assert history_interval([0.3, 0.1 + 0.2]).degenerate
    assert history_interval(tenths).method == "exact-lattice"
    assert ends(history_interval(tenths)) == ends(history_interval(exact))


def test_it_accepts_lists_and_arrays_of_other_types() -> None:
    expected = history_interval([1.0, 0.0, 1.0, 1.0])

    assert history_interval([1, 0, 1, 1]) == expected
    assert history_interval((True, False, True, True)) == expected
    assert history_interval(np.array([1, 0, 1, 1], dtype=np.float32)) == expected
