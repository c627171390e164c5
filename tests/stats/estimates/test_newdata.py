"""Intervals for new data: each metric kind has its own, and each is right as often as it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, ttest_1samp

from evalsvc.stats import clopper_pearson
from evalsvc.stats.basics.sums import Sums, compute_sums
from evalsvc.stats.estimates.newdata import NewDataInterval, new_data_interval
from evalsvc.stats.formulas.anytime import anytime_share
from evalsvc.stats.formulas.betting import betting_interval
from evalsvc.stats.formulas.extremes import carrying_scores, guarded_t, shape_warnings
from evalsvc.stats.kinds import kind_named
from tests.stats.populations import BOUNDED, draw
from tests.stats.reference import Row


def ask(seen: list[float] | Row, kind: str = "algebraic", **changes: object) -> NewDataInterval:
    arguments: dict[str, object] = {"level": 0.95, "value_range": (0.0, 1.0), "binary": False} | changes
    sums = arguments.pop("sums", None) or compute_sums(seen)
    return new_data_interval(kind_named(kind), sums, **arguments)  # type: ignore[arg-type]


def ends(found: NewDataInterval) -> tuple[float, float]:
    assert found.lower is not None
    assert found.upper is not None
    return found.lower, found.upper


def test_binary_scores_take_clopper_pearson_and_keep_a_width_at_the_end() -> None:
    found = ask([1.0] * 400, binary=True)

    assert (ends(found), found.method, found.safe) == (clopper_pearson(400, 400), "clopper-pearson", "one look")
    assert found.warnings == ("degenerate",)


def test_watched_binary_scores_take_prior_over_posterior() -> None:
    found = ask([1.0] * 300 + [0.0] * 100, binary=True, watched=True)

    assert ends(found) == anytime_share(300, 400, None, 0.95)
    assert (found.method, found.safe) == ("beta-binomial", "safe while watched")


def test_watched_scores_in_a_range_take_betting_in_their_order() -> None:
    scores = np.random.default_rng(1).beta(2, 3, 80)

    found = ask(scores, watched=True, scores=scores)

    assert ends(found) == betting_interval(scores, None, 0.95, (0.0, 1.0), running=True)
    assert found.method == "betting"
    with pytest.raises(ValueError, match="`scores` must hold every score"):
        ask(scores, watched=True)


def test_the_guard_fades_as_scores_gather() -> None:
    rng = np.random.default_rng(2)
    ratios = []
    for n in (30, 100, 400, 4000):
        scores = rng.random(n)
        student = ttest_1samp(scores, 0.0).confidence_interval(0.95)
        ratios.append(float(np.diff(ends(ask(scores)))[0]) / (student.high - student.low))

    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] < 1.25
    assert ratios[-1] < 1.02


def test_it_does_not_depend_on_the_unit() -> None:
    scores = np.random.default_rng(3).beta(0.3, 3, 50)

    unit = ends(ask(scores))
    grades = ends(ask(1e6 + 40 * scores, value_range=(1e6, 1e6 + 40)))

    assert grades == pytest.approx([1e6 + 40 * end for end in unit], abs=1e-5)


@pytest.mark.parametrize("n", [10, 20, 30, 50, 100, 200, 400, 1000, 4000])
def test_guarded_t_covers_shares_too(n: int) -> None:
    """Scores of two values are its hardest case: sum over all counts, exactly."""
    counts = np.arange(n + 1)
    found = np.array([guarded_t(Sums(n, k, k, float(k == n), float(k > 0)), (0.0, 1.0), 0.95) for k in counts.tolist()])
    shares = np.arange(0.002, 0.9985, 0.002)[:, None]
    inside = (found[:, 0] <= shares + 1e-12) & (shares <= found[:, 1] + 1e-12)

    assert (binom.pmf(counts, n, shares) * inside).sum(axis=1).min() >= 0.9485


@pytest.mark.parametrize("population", BOUNDED)
@pytest.mark.parametrize("n", [10, 30, 50, 100, 400])
def test_scores_in_a_range_are_covered_at_one_look(population: str, n: int) -> None:
    rows, mean = draw(population, 1500, n, seed=4)
    hits = sum(lower <= mean <= upper for lower, upper in (ends(ask(row)) for row in rows))

    # Two standard errors below 95 %.
    assert hits / len(rows) >= 0.939


def test_one_score_says_no_more_than_the_range_and_none_says_nothing() -> None:
    assert ends(ask([0.5])) == (0.0, 1.0)
    assert ends(ask([0.5], watched=True, scores=[0.5])) == (0.0, 1.0)
    assert (ask([]).lower, ask([]).method, ask([]).warnings) == (None, "none", ())


def test_scores_without_a_range_take_student_and_are_warned_of() -> None:
    scores = np.random.default_rng(5).lognormal(0, 1, 60)
    expected = ttest_1samp(scores, 0.0).confidence_interval(0.95)

    found = ask(scores, value_range=None)

    assert ends(found) == pytest.approx((expected.low, expected.high))
    assert (found.method, found.warnings) == ("t", ("heavy_tail",))
    assert ask(scores, value_range=None, watched=True).lower is None
    assert ask([2.0] * 40, value_range=None).warnings == ("degenerate", "heavy_tail")


def test_a_ratio_takes_its_linearised_residuals() -> None:
    rng = np.random.default_rng(6)
    below = rng.integers(5, 20, 50).astype(float)
    above = 0.3 * below + rng.normal(size=50)
    ratio = above.sum() / below.sum()
    residuals = (above - ratio * below) / below.mean()
    expected = ttest_1samp(residuals, 0.0).confidence_interval(0.95)

    found = ask(above, "ratio", value_range=None, sums=compute_sums(above, below))

    assert ends(found) == pytest.approx((ratio + expected.low, ratio + expected.high))
    assert ask([1.0, 2.0], "ratio", value_range=None, sums=compute_sums([1, 2], [2, 4])).lower is None


@pytest.mark.parametrize("kind", ["distributive", "untyped"])
def test_totals_and_untyped_metrics_have_none(kind: str) -> None:
    assert ask([1.0, 0.0, 1.0], kind).lower is None
    assert ask([1.0, 0.0, 1.0], kind).warnings == ()


def test_it_refuses_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="`kind` must be one of"):
        ask([1.0], "mean")
    with pytest.raises(ValueError, match="value_range"):
        ask([2.0, 0.5])


def test_few_carrying_scores_and_unseen_ends_are_skewed() -> None:
    rng = np.random.default_rng(7)

    assert shape_warnings(compute_sums(rng.random(100)), (0, 1)) == ()
    assert shape_warnings(compute_sums(rng.integers(1, 6, 50).astype(float)), (1, 5)) == ()
    assert "skewed" in shape_warnings(compute_sums([1.0] * 98 + [0.0, 0.1]), (0, 1))
    assert "skewed" in shape_warnings(compute_sums(1 - 0.05 * rng.random(50)), (0, 1))
    assert "wide_range" in shape_warnings(compute_sums(rng.integers(1, 6, 50).astype(float)), (0, 100))


def test_carrying_scores_never_exceed_the_effective_number() -> None:
    rng = np.random.default_rng(8)
    for scores in (rng.random(50), rng.beta(0.3, 3, 50), rng.lognormal(size=50)):
        deviations = scores - scores.mean()
        effective = (deviations**2).sum() ** 2 / (deviations**4).sum()
        assert 0.0 < carrying_scores(compute_sums(scores)) <= effective + 1e-9
        assert math.isfinite(effective)
