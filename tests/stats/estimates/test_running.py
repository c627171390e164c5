"""Running estimates: which formula answers, what it promises, what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsvc.stats.estimates.estimator import Estimate, compute_sums, estimate
from evalsvc.stats.kinds import RATIO
from evalsvc.stats.strategies.registry import SET_STRATEGIES
from tests.stats.questions import PASSES, ask, ends, shuffled

OURS = ("exact", "t", "hoeffding-serfling", "anytime")


# The seed's formulas, by hand


def test_normal_uses_the_variance_of_a_share_for_declared_binary_scores_only() -> None:
    share, spread = ask(PASSES, "normal"), ask(PASSES, "normal", binary=False)

    assert ends(share) == pytest.approx((0.9 - 0.0778808, 0.9 + 0.0778808), abs=1e-6)
    # s² = 50/49 of p(1-p).
    assert ends(spread)[1] - 0.9 == pytest.approx(0.0778808 * math.sqrt(50 / 49), abs=1e-6)


def test_hoeffding_scales_with_the_range_and_is_not_cut() -> None:
    grades = [4.0] * 40 + [5.0] * 10

    found = ask(grades, "hoeffding", value_range=[0, 5], binary=False)

    assert ends(found) == pytest.approx((4.2 - 5 * 0.1920645 * 0.9365858, 4.2 + 5 * 0.1920645 * 0.9365858), abs=1e-5)


def test_a_distributive_metric_is_the_mean_times_the_population() -> None:
    mean, total = ask(PASSES, "normal"), ask(PASSES, "normal", kind="distributive")

    assert total.value == pytest.approx(360.0)
    assert ends(total) == pytest.approx(tuple(400 * end for end in ends(mean)))


def test_wilson_falls_back_to_normal_for_a_sum() -> None:
    found = ask(PASSES, "wilson", kind="distributive")

    assert found.method == "normal"
    assert ends(found) == ends(ask(PASSES, "normal", kind="distributive"))


def test_wilson_and_hoeffding_have_a_width_where_all_scores_agree() -> None:
    for strategy in ("wilson", "hoeffding"):
        lower, upper = ends(ask([1.0] * 5, strategy))

        assert upper - lower > 0.2, strategy


def test_normal_keeps_its_formula_and_warns_that_it_is_degenerate() -> None:
    found = ask([1.0] * 40, "normal")

    assert ends(found) == (1.0, 1.0)
    assert found.warnings == ("degenerate",)


# The two questions


@pytest.mark.parametrize("strategy", SET_STRATEGIES)
def test_it_says_which_question_it_answers(strategy: str) -> None:
    this_set, new_data = ask(PASSES, strategy), ask(PASSES, strategy, use_fpc=False)

    assert (this_set.covers, new_data.covers) == ("this set", "new data")
    assert ends(this_set)[1] - ends(this_set)[0] < ends(new_data)[1] - ends(new_data)[0]


@pytest.mark.parametrize("strategy", SET_STRATEGIES)
def test_nothing_is_left_open_about_a_set_seen_in_full(strategy: str) -> None:
    scores = PASSES * 8

    found, beyond = ask(scores, strategy), ask(scores, strategy, use_fpc=False)

    assert (found.value, *ends(found), found.method) == (0.9, 0.9, 0.9, "census")
    assert found.warnings == ()
    assert ends(beyond)[1] > ends(beyond)[0]


def test_without_a_population_the_interval_is_for_new_data_and_a_sum_has_no_estimate() -> None:
    mean, total = ask(PASSES, "exact", population=None), ask(PASSES, "exact", kind="distributive", population=None)

    assert (mean.covers, mean.method) == ("new data", "clopper-pearson")
    assert (total.value, total.lower, total.upper) == (None, None, None)


def test_only_anytime_may_be_watched() -> None:
    assert {s: ask(PASSES, s).safe for s in SET_STRATEGIES} == {
        s: "safe while watched" if s == "anytime" else "one look" for s in SET_STRATEGIES
    }


@pytest.mark.parametrize(
    ("strategy", "use_fpc", "binary", "method"),
    [
        ("exact", True, True, "hypergeometric"),
        ("exact", False, True, "clopper-pearson"),
        ("hoeffding-serfling", True, True, "hoeffding-serfling"),
        ("hoeffding-serfling", False, True, "hoeffding"),
        ("anytime", True, True, "beta-binomial"),
        ("anytime", False, True, "beta-binomial"),
        ("anytime", True, False, "betting"),
        ("t", True, False, "t"),
    ],
)
def test_it_names_the_formula(strategy: str, use_fpc: bool, binary: bool, method: str) -> None:
    assert ask(PASSES, strategy, use_fpc=use_fpc, binary=binary).method == method


def test_anytime_needs_no_order_for_declared_binary_scores() -> None:
    row = shuffled(45, 5)
    counts = ask(row, "anytime", use_fpc=False, known=None)

    assert counts.method == "beta-binomial"
    assert ends(counts) == pytest.approx(ends(ask(row, "anytime", use_fpc=False)), abs=0.06)


# No certainty before the end


@pytest.mark.parametrize("strategy", SET_STRATEGIES)
def test_no_score_gives_no_number_and_one_score_what_is_certain(strategy: str) -> None:
    none, one = ask([], strategy), ask([1.0], strategy)

    assert (none.value, none.lower, none.upper) == (None, None, None)
    assert (one.value, *ends(one), one.method) == (1.0, 1 / 400, 1.0, "feasible")
    assert ends(ask([1.0], strategy, use_fpc=False)) == (0.0, 1.0)


def test_one_score_without_a_range_has_no_interval() -> None:
    found = ask([3.0], "t", value_range=None, binary=False)

    assert (found.value, found.lower, found.upper) == (3.0, None, None)


def test_where_one_count_is_left_it_reports_what_is_certain() -> None:
    found = ask([1.0] * 399, "exact")

    assert (ends(found), found.method) == ((399 / 400, 1.0), "feasible")


def test_equal_scores_take_the_bound_that_assumes_the_range_only() -> None:
    found = ask([4.0] * 50, "t", value_range=(1.0, 5.0), binary=False)

    assert found.method == "hoeffding-serfling"
    assert ends(found) == ends(ask([4.0] * 50, "hoeffding-serfling", value_range=(1.0, 5.0), binary=False))


def test_equal_scores_without_a_range_have_no_interval() -> None:
    found = ask([4.0] * 50, "t", value_range=None, binary=False)

    assert (found.value, found.lower, found.upper, found.warnings) == (4.0, None, None, ("degenerate",))


@settings(derandomize=True)
@given(st.data())
def test_our_strategies_have_a_width_around_the_value_before_the_end(data: st.DataObject) -> None:
    population = data.draw(st.integers(2, 60))
    binary = data.draw(st.booleans())
    score = st.sampled_from([0.0, 1.0]) if binary else st.sampled_from([0.0, 0.25, 1.0])
    scores = data.draw(st.lists(score, min_size=1, max_size=population - 1))
    kind = data.draw(st.sampled_from(["algebraic", "distributive"]))
    level = data.draw(st.floats(0.01, 0.999))
    for strategy in OURS if binary else OURS[1:]:
        for use_fpc in (True, False):
            found = ask(scores, strategy, kind, population=population, binary=binary, level=level, use_fpc=use_fpc)
            lower, upper = ends(found)

            assert found.value is not None
            assert lower <= found.value <= upper, strategy
            assert lower < upper, strategy


@settings(derandomize=True)
@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=60), st.booleans())
def test_intervals_widen_with_the_level(scores: list[float], use_fpc: bool) -> None:
    for strategy in ("normal", "hoeffding", "t", "hoeffding-serfling", "anytime"):
        inner, outer = (
            ends(ask(scores, strategy, population=80, binary=False, level=level, use_fpc=use_fpc))
            for level in (0.8, 0.95)
        )
        if strategy == "anytime":
            # Stakes follow the level too; the interval widens on the whole, not at every end.
            assert outer[1] - outer[0] >= inner[1] - inner[0] - 1e-4
        else:
            assert outer[0] <= inner[0] + 1e-12
            assert inner[1] <= outer[1] + 1e-12


# Ratios


def test_a_ratio_uses_the_residuals_of_its_linear_form() -> None:
    top, bottom = np.array([3.0, 1.0, 4.0, 2.0, 5.0]), np.array([4.0, 2.0, 5.0, 2.0, 9.0])
    ratio = top.sum() / bottom.sum()
    error = math.sqrt(((top - ratio * bottom) ** 2).sum() / 4 / 5) / bottom.mean()

    found = estimate(
        RATIO,
        compute_sums(top, bottom),
        population=20,
        strategy="t",
        level=0.95,
        value_range=None,
        binary=False,
        use_fpc=True,
    )

    assert found.value == pytest.approx(ratio)
    assert ends(found)[1] - ratio == pytest.approx(2.776445 * error * math.sqrt(0.75), rel=1e-6)


def test_a_ratio_with_denominators_of_one_is_a_mean() -> None:
    row = np.random.default_rng(1).random(60)
    ratio = estimate(
        RATIO,
        compute_sums(row, np.ones(60)),
        population=400,
        strategy="normal",
        level=0.9,
        value_range=None,
        binary=False,
        use_fpc=True,
    )

    assert ends(ratio) == pytest.approx(ends(ask(row, "normal", binary=False, level=0.9)))


def ratio_of(top: list[float], bottom: list[float], value_range: object = None) -> Estimate:
    return estimate(
        RATIO,
        compute_sums(top, bottom),
        population=20,
        strategy="t",
        level=0.95,
        value_range=value_range,  # type: ignore[arg-type]
        binary=False,
        use_fpc=True,
    )


def test_a_ratio_over_nothing_has_no_value() -> None:
    found = ratio_of([1.0, 2.0], [0.0, 0.0])

    assert (found.value, found.lower, found.upper) == (None, None, None)


def test_a_ratio_that_is_the_same_for_every_example_is_bounded_by_its_range() -> None:
    assert ends(ratio_of([1.0, 2.0], [1.0, 2.0], [0, 1])) == (0.0, 1.0)
    assert ratio_of([1.0, 2.0], [1.0, 2.0]).lower is None
