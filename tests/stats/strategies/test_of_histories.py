"""The strategies a request may name: one shape of answer, and their own promises."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evalsvc.stats import (
    HISTORY_STRATEGIES,
    HistoryInterval,
    StrategyNotApplicable,
    clopper_pearson,
    history_interval,
    interval_for,
    wilson,
)
from evalsvc.stats.formulas.betting import betting_interval
from evalsvc.stats.strategies.of_histories import block_length
from tests.stats.populations import BOUNDED, draw
from tests.stats.reference import Row, standard_error

BINARY_ONLY = ("wilson", "clopper-pearson")
RESAMPLING = ("full-history-bca", "full-history-block", "studentized")
ANY_SCORES = ("full-history", *RESAMPLING)


def ends(interval: HistoryInterval) -> list[float]:
    assert interval.lower is not None
    assert interval.median is not None
    assert interval.upper is not None
    return [interval.lower, interval.median, interval.upper]


def binary_for(strategy: str) -> bool | None:
    return True if strategy in BINARY_ONLY else None


def remembering(n: int, phi: float, seed: int = 1) -> Row:
    noise = np.random.default_rng(seed).normal(size=n)
    scores = np.empty(n)
    scores[0] = noise[0]
    for i in range(1, n):
        scores[i] = phi * scores[i - 1] + noise[i]
    return scores


def test_the_names_are_the_ones_on_the_wire() -> None:
    assert HISTORY_STRATEGIES == (
        "none",
        "auto",
        "full-history",
        "full-history-bca",
        "full-history-block",
        "wilson",
        "clopper-pearson",
        "studentized",
        "betting",
    )


def test_it_refuses_an_unknown_name() -> None:
    with pytest.raises(ValueError, match="`strategy` must be one of none, auto, full-history"):
        interval_for("bootstrap", [0.0, 1.0])


@pytest.mark.parametrize("strategy", HISTORY_STRATEGIES)
@pytest.mark.parametrize("n", range(9))
def test_every_strategy_answers_every_small_history(strategy: str, n: int) -> None:
    if strategy == "full-history-block" and n >= 2:
        pytest.skip("it needs fifty scores")
    scores = (np.arange(n) % 3 == 0).astype(float) if strategy in BINARY_ONLY else np.random.default_rng(n).random(n)

    interval = interval_for(strategy, scores, value_range=(0, 1), binary=binary_for(strategy))

    assert interval.n == n
    if n < 2 or strategy == "none":
        assert (interval.lower, interval.median, interval.upper, interval.method) == (None, None, None, None)
    else:
        lower, median, upper = ends(interval)
        assert all(map(math.isfinite, (lower, median, upper)))
        assert lower <= median <= upper
        assert "n<30" in interval.warnings


@pytest.mark.parametrize("strategy", ANY_SCORES)
def test_equal_scores_are_degenerate(strategy: str) -> None:
    scores = [0.7] * 50

    assert interval_for(strategy, scores, value_range=(0, 1)) == history_interval(scores, value_range=(0, 1))


@pytest.mark.parametrize("strategy", BINARY_ONLY)
def test_the_formulas_for_proportions_are_never_degenerate(strategy: str) -> None:
    for score in (0.0, 1.0):
        interval = interval_for(strategy, [score] * 40, binary=True)

        lower, median, upper = ends(interval)
        assert not interval.degenerate
        assert interval.advice is None
        assert median == score
        assert upper - lower > 0.08
        assert interval.warnings == ()


@pytest.mark.parametrize("strategy", BINARY_ONLY)
@pytest.mark.parametrize("binary", [None, False])
def test_the_formulas_for_proportions_need_declared_binary_scores(strategy: str, binary: bool | None) -> None:
    with pytest.raises(StrategyNotApplicable, match=f"{strategy} is for .* declared binary\\.$"):
        interval_for(strategy, [0.0, 1.0, 1.0], binary=binary)


def test_studentized_is_not_for_binary_scores() -> None:
    with pytest.raises(StrategyNotApplicable, match="continuous"):
        interval_for("studentized", [0.0, 1.0, 1.0], binary=True)


def test_an_unfit_strategy_is_a_value_error() -> None:
    assert issubclass(StrategyNotApplicable, ValueError)


@pytest.mark.parametrize("strategy", HISTORY_STRATEGIES)
def test_every_strategy_checks_its_input(strategy: str) -> None:
    binary = binary_for(strategy)
    for scores, level, named in (([0.0, math.nan], 0.95, "scores"), ([0.0, 1.0], 1.5, "level")):
        with pytest.raises(ValueError, match=f"`{named}`"):
            interval_for(strategy, scores, level, binary=binary)
    with pytest.raises(ValueError, match="`value_range`"):
        interval_for(strategy, [0.0, 2.0], value_range=(0, 1), binary=binary)


def test_full_history_is_the_history_interval() -> None:
    scores = np.random.default_rng(1).random(60)

    assert interval_for("full-history", scores, 0.9, value_range=(0, 1)) == history_interval(
        scores, 0.9, value_range=(0, 1)
    )


def test_the_formulas_for_proportions_are_the_single_shot_ones() -> None:
    scores = np.repeat([1.0, 0.0], [37, 13])
    for strategy, formula in (("wilson", wilson), ("clopper-pearson", clopper_pearson)):
        lower, upper = formula(37, 50, 0.9)

        interval = interval_for(strategy, scores, 0.9, binary=True)

        assert ends(interval) == [round(lower, 9), 0.74, round(upper, 9)]
        assert interval.method == strategy


@pytest.mark.parametrize("strategy", RESAMPLING)
def test_the_same_seed_gives_the_same_interval(strategy: str) -> None:
    scores = np.random.default_rng(2).random(50)

    assert interval_for(strategy, scores, seed=5) == interval_for(strategy, scores, seed=5)
    assert interval_for(strategy, scores, seed=5) != interval_for(strategy, scores, seed=6)


@pytest.mark.parametrize("strategy", RESAMPLING)
def test_resampling_agrees_with_the_limit_on_well_behaved_scores(strategy: str) -> None:
    scores = np.random.default_rng(3).random(300)

    difference = np.subtract(ends(interval_for(strategy, scores)), ends(history_interval(scores)))

    assert np.abs(difference).max() < 0.25 * standard_error(scores)


def test_bca_equals_arch() -> None:
    from arch.bootstrap import IIDBootstrap

    scores = np.random.default_rng(4).exponential(size=50)
    low, spread = scores.min(), np.ptp(scores)

    expected = IIDBootstrap((scores - low) / spread, seed=9).conf_int(np.mean, 2000, method="bca", size=0.95)[:, 0]

    interval = interval_for("full-history-bca", scores, seed=9)
    lower, _, upper = ends(interval)
    assert [lower, upper] == pytest.approx((low + spread * expected).tolist(), abs=1e-8)
    assert interval.method == "bca"


def test_bca_of_mirrored_grades_is_mirrored() -> None:
    """arch 8 counts resamples that equal the estimate as above it, which shifts both ends of graded scores."""
    grades = np.array([1, 2, 3, 4, 5] * 4, dtype=np.float64)

    lower, median, upper = ends(interval_for("full-history-bca", grades, seed=3))
    mirrored = ends(interval_for("full-history-bca", 6.0 - grades, seed=3))

    assert [6.0 - end for end in reversed(mirrored)] == pytest.approx([lower, median, upper], abs=1e-9)
    assert 3.0 - lower == pytest.approx(upper - 3.0, abs=0.11)


def test_bca_leans_towards_the_long_tail() -> None:
    scores = np.random.default_rng(5).exponential(size=40)

    bca, plain = ends(interval_for("full-history-bca", scores)), ends(history_interval(scores))

    assert bca[0] > plain[0]
    assert bca[2] > plain[2]


def test_block_is_wider_when_scores_remember() -> None:
    scores = remembering(400, 0.8)

    block, plain = interval_for("full-history-block", scores), interval_for("full-history", scores)

    assert np.ptp(ends(block)) > 1.8 * np.ptp(ends(plain))
    assert "autocorrelated" in block.warnings
    assert block.method == "stationary-bootstrap"


def test_block_minds_the_order_but_not_its_direction() -> None:
    scores = remembering(400, 0.8)

    forwards = np.ptp(ends(interval_for("full-history-block", scores)))
    backwards = np.ptp(ends(interval_for("full-history-block", scores[::-1])))
    shuffled = np.ptp(ends(interval_for("full-history-block", np.random.default_rng(1).permutation(scores))))

    assert backwards == pytest.approx(forwards, rel=0.15)
    assert shuffled < 0.7 * forwards


def test_block_length_grows_with_memory_and_stays_within_the_history() -> None:
    lengths = [block_length(remembering(300, phi)) for phi in (0.0, 0.5, 0.9)]

    assert lengths == sorted(lengths)
    assert lengths[0] < 6.0 < lengths[2]
    assert block_length(np.linspace(0.0, 1.0, 30)) <= 15.0
    assert block_length(np.tile([0.0, 1.0], 20)) >= 1.0


def test_studentized_agrees_with_arch() -> None:
    from arch.bootstrap import IIDBootstrap

    scores = np.random.default_rng(6).exponential(size=25)
    base = IIDBootstrap(scores, seed=1)

    def error_of(_: object, row: Row) -> float:
        return float(row.std(ddof=1)) / math.sqrt(row.size)

    expected = base.conf_int(
        np.mean, 4000, method="studentized", size=0.9, std_err_func=lambda mean, row: error_of(mean, row)
    )[:, 0]

    lower, _, upper = ends(interval_for("studentized", scores, 0.9))
    # Both draw, so both ends carry the noise of a few thousand resamples.
    assert np.abs(expected - [lower, upper]).max() < 0.35 * standard_error(scores)


def test_studentized_covers_small_skewed_histories_better() -> None:
    rng = np.random.default_rng(7)
    hits = {"studentized": 0, "full-history": 0}
    for i in range(150):
        scores = rng.exponential(size=12)
        for strategy in hits:
            lower, _, upper = ends(interval_for(strategy, scores, seed=i))
            hits[strategy] += lower <= 1.0 <= upper

    assert hits["studentized"] / 150 > 0.9
    assert hits["full-history"] < hits["studentized"]


def test_studentized_takes_students_t_for_very_few_scores() -> None:
    from scipy.stats import t

    scores = np.array([0.2, 0.5, 0.9])
    half = t.ppf(0.975, 2) * scores.std(ddof=1) / math.sqrt(3)

    interval = interval_for("studentized", scores)

    assert interval.method == "student-t"
    assert ends(interval) == pytest.approx([scores.mean() - half, scores.mean(), scores.mean() + half], abs=1e-8)


def test_a_declared_range_bounds_every_interval() -> None:
    interval = interval_for("studentized", [0.1, 0.9, 0.95], value_range=[0, 1])

    assert (interval.lower, interval.upper) == (0.0, 1.0)


def test_studentized_counts_resamples_without_variance() -> None:
    scores = [0.0] * 59 + [0.4]

    lower, median, upper = ends(interval_for("studentized", scores, value_range=(0, 1)))

    # More than a third of all resamples hold no 0.4: nothing bounds the mean from above but the range.
    assert (lower, upper) == (pytest.approx(0.0, abs=0.01), 1.0)
    assert lower <= median <= upper
    with pytest.raises(StrategyNotApplicable, match="no value_range"):
        interval_for("studentized", scores)


@pytest.mark.parametrize("n", [10, 20, 30])
def test_studentized_covers_zero_inflated_scores(n: int) -> None:
    rows, mean = draw("zero-inflated", 300, n, seed=10)
    hits = 0
    for i, row in enumerate(rows):
        lower, _, upper = ends(interval_for("studentized", row, value_range=(0, 1), seed=i))
        # All scores equal is another answer, with advice of its own.
        hits += lower <= mean <= upper or np.ptp(row) == 0.0

    assert hits / len(rows) >= 0.965


@pytest.mark.parametrize("population", BOUNDED)
@pytest.mark.parametrize("n", [10, 30, 100])
def test_betting_covers_every_population(population: str, n: int) -> None:
    rows, mean = draw(population, 200, n, seed=11)
    found = [ends(interval_for("betting", row, value_range=(0, 1))) for row in rows]

    assert np.mean([lower <= mean <= upper for lower, _, upper in found]) >= 0.975


def test_betting_is_the_interval_of_bets_and_needs_a_range() -> None:
    scores = np.random.default_rng(12).random(40)
    lower, upper = betting_interval(scores, None, 0.9, (0.0, 1.0))

    found = interval_for("betting", scores, 0.9, value_range=(0, 1))

    assert ends(found) == pytest.approx([lower, scores.mean(), upper], abs=1e-9)
    assert found.method == "betting"
    assert interval_for("betting", [0.7] * 40, value_range=(0, 1)).degenerate is False
    with pytest.raises(StrategyNotApplicable, match="needs a value_range"):
        interval_for("betting", scores)


def test_block_needs_fifty_scores() -> None:
    with pytest.raises(StrategyNotApplicable, match=r"needs 50 scores .* there are 49"):
        interval_for("full-history-block", np.arange(49.0))
    assert interval_for("full-history-block", np.arange(50.0)).method == "stationary-bootstrap"


@pytest.mark.parametrize("strategy", ANY_SCORES)
@pytest.mark.parametrize("scale", [1e-200, 1e60])
def test_no_strategy_answers_nan_for_scores_of_extreme_size(strategy: str, scale: float) -> None:
    for scores in (np.random.default_rng(8).random(60), np.array([0.0] * 59 + [1.0])):
        lower, median, upper = ends(interval_for(strategy, scores * scale, value_range=(0.0, scale)))

        assert all(map(math.isfinite, (lower, median, upper)))
        assert lower <= median <= upper


@pytest.mark.parametrize("strategy", ANY_SCORES)
def test_every_level_is_answered(strategy: str) -> None:
    scores = np.random.default_rng(9).random(50)
    for level in (1e-6, 0.1, 0.999, 1.0 - 1e-12):
        lower, median, upper = ends(interval_for(strategy, scores, level))

        assert lower <= median <= upper


@pytest.mark.parametrize(
    ("scores", "binary", "value_range", "method"),
    [
        ([1.0] * 99, True, (0, 1), "clopper-pearson"),
        ([1.0] * 99, True, None, "clopper-pearson"),
        ([1.0] * 100, True, (0, 1), "wilson"),
        ([0.7] * 500, None, (0, 1), "guarded-t"),
        # Of evenly spread scores five of nine carry the variance.
        (np.linspace(0, 1, 170), None, (0, 1), "guarded-t"),
        (np.linspace(0, 1, 190), None, (0, 1), "saddlepoint"),
        # Of zeros and ones that are not declared binary, the number that carries the variance decides.
        ([0.0] * 480 + [1.0] * 20, None, (0, 1), "guarded-t"),
        ([0.0] * 400 + [1.0] * 100, None, (0, 1), "exact-binomial"),
        # A thousand scores that have not shown the lower end of their range.
        (np.linspace(0.98, 1, 1000), None, (0, 1), "guarded-t"),
    ],
)
def test_auto_names_the_formula_it_chose(
    scores: Row | list[float], binary: bool | None, value_range: tuple[int, int] | None, method: str
) -> None:
    interval = interval_for("auto", scores, value_range=value_range, binary=binary)

    lower, median, upper = ends(interval)
    assert interval.method == method
    assert lower <= median <= upper
    assert upper > lower
    assert not interval.degenerate
    assert interval.reason is None


def test_auto_gives_the_numbers_of_the_strategy_it_chose() -> None:
    shares, scores = [1.0] * 90 + [0.0] * 30, np.random.default_rng(2).random(300)

    assert interval_for("auto", shares[:80], binary=True) == interval_for("clopper-pearson", shares[:80], binary=True)
    assert interval_for("auto", shares, binary=True) == interval_for("wilson", shares, binary=True)
    assert interval_for("auto", scores, value_range=(0, 1)) == history_interval(scores, value_range=(0, 1))


@pytest.mark.parametrize("n", [2, 40, 2000])
def test_auto_has_no_interval_of_a_mean_without_a_range(n: int) -> None:
    interval = interval_for("auto", np.random.default_rng(n).lognormal(size=n))

    assert (interval.lower, interval.median, interval.upper, interval.method) == (None, None, None, None)
    assert interval.n == n
    assert interval.warnings == (("n<30", "no_range") if n < 30 else ("no_range",))
    assert interval.reason is not None
    assert "full-history" in interval.reason


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("n", [5, 20, 150])
def test_auto_covers_bounded_scores(name: str, n: int) -> None:
    rows, mean = draw(name, 200, n, 1)
    intervals = [ends(interval_for("auto", row, value_range=(0, 1))) for row in rows]

    assert np.mean([lower <= mean <= upper for lower, _, upper in intervals]) >= 0.92
