"""The variance within and between examples against populations whose variances are known."""

from __future__ import annotations

import numpy as np
import pytest

from evalsvc.stats.estimates.splits import SampleSums, VarianceSplit, expected_error, split_variance

N, K, RUNS = 40, 4, 2000
WITHIN, BETWEEN = 0.5, 0.2


def drawn(seed: int, *, failing: float = 0.0, uneven: bool = False) -> np.ndarray:
    """Scores of RUNS experiments, NaN where a sample failed: examples times samples."""
    rng = np.random.default_rng(seed)
    # Half of the examples vary a lot, the others hardly: on average WITHIN.
    scale = np.where(rng.random((RUNS, N, 1)) < 0.5, 1.9, 0.1) if uneven else np.ones((RUNS, N, 1))
    scores = rng.normal(0.6, np.sqrt(BETWEEN), (RUNS, N, 1)) + rng.normal(size=(RUNS, N, K)) * np.sqrt(WITHIN * scale)
    return np.where(rng.random((RUNS, N, K)) < failing, np.nan, scores)


def split_of(scores: np.ndarray) -> VarianceSplit:
    counts = (~np.isnan(scores)).sum(axis=1)
    scores, counts = scores[counts > 0], counts[counts > 0]
    repeated = counts > 1
    within = np.nanvar(scores[repeated], axis=1, ddof=1)
    sums = SampleSums(
        n=len(scores),
        variance=float(np.var(np.nanmean(scores, axis=1), ddof=1)),
        n_repeated=int(repeated.sum()),
        within=float(within.sum()),
        noise=float((within / counts[repeated]).sum()),
    )
    found = split_variance(sums, n_samples=K)
    assert found is not None
    return found


def standard_error_of(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


@pytest.mark.parametrize(("failing", "uneven"), [(0.0, False), (0.3, False), (0.0, True)])
def test_both_variances_are_unbiased(failing: float, uneven: bool) -> None:
    splits = [split_of(one) for one in drawn(7, failing=failing, uneven=uneven)]
    for name, truth in (("within", WITHIN), ("between", BETWEEN)):
        values = [getattr(one, name) for one in splits]
        assert np.mean(values) == pytest.approx(truth, abs=4 * standard_error_of(values)), name


def test_both_are_unbiased_where_what_varies_more_fails_more() -> None:
    rng = np.random.default_rng(11)
    unsteady = rng.random((RUNS, N, 1)) < 0.5
    scores = rng.normal(0.6, np.sqrt(BETWEEN), (RUNS, N, 1))
    scores = scores + rng.normal(size=(RUNS, N, K)) * np.sqrt(WITHIN * np.where(unsteady, 1.9, 0.1))
    splits = [split_of(one) for one in np.where(unsteady & (np.arange(K) >= 2), np.nan, scores)]
    for name, truth in (("within", WITHIN), ("between", BETWEEN)):
        values = [getattr(one, name) for one in splits]
        assert np.mean(values) == pytest.approx(truth, abs=4 * standard_error_of(values)), name


def test_the_expected_errors_are_those_of_larger_runs() -> None:
    rng = np.random.default_rng(3)
    for n, k in ((N, 2 * K), (N, 10), (2 * N, K)):
        means = rng.normal(0.0, np.sqrt(BETWEEN), (4000, n)) + rng.normal(size=(4000, n)) * np.sqrt(WITHIN / k)
        assert expected_error(WITHIN, BETWEEN, n=n, n_samples=k) == pytest.approx(means.mean(axis=1).std(), rel=0.04)


def test_it_tells_what_more_would_buy() -> None:
    found = split_of(drawn(5)[0])
    assert [(one.n, one.n_samples) for one in found.expected] == [(N, 8), (N, 10), (2 * N, K)]
    assert all(one.standard_error < found.standard_error for one in found.expected)


def test_the_parts_add_up_to_the_variance_of_the_mean() -> None:
    found = split_of(drawn(2)[0])
    assert (found.between + found.within / K) / N == pytest.approx(found.standard_error**2)


def test_examples_that_all_score_alike_take_no_root_of_less_than_nothing() -> None:
    found = split_variance(SampleSums(n=20, variance=0.01, n_repeated=20, within=5.0, noise=2.5), n_samples=2)
    assert found is not None and found.between < 0 and found.share_within == 1.0
    assert found.expected[0].standard_error == pytest.approx((0.25 / 4 / 20) ** 0.5)


def test_scores_without_variance_have_no_share() -> None:
    found = split_variance(SampleSums(n=5, variance=0.0, n_repeated=5, within=0.0, noise=0.0), n_samples=3)
    assert found is not None and (found.share_within, found.standard_error) == (None, 0.0)


@pytest.mark.parametrize("sums", [SampleSums(1, 0.0, 1, 0.2, 0.1), SampleSums(9, 0.3, 0, 0.0, 0.0)])
def test_too_little_tells_nothing(sums: SampleSums) -> None:
    assert split_variance(sums, n_samples=2) is None
