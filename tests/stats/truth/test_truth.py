"""Truth intervals: right values by hand, the estimate's edges, and what an answer carries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evalsvc.stats.formulas.intervals import clopper_pearson, wilson, z_quantile
from evalsvc.stats.truth.adjusted import adjusted_mean, running_interval
from evalsvc.stats.truth.answer import LEAST_LABELS, TruthEstimate, estimate_mean_of_truth, estimate_share_of_truth
from evalsvc.stats.truth.strata import Stratum, finite_interval, labels_for_width, stratified_interval

PASS, FAIL = Stratum("pass", 800, 80, 72), Stratum("fail", 200, 40, 10)


def estimate(
    table: dict[tuple[bool | None, bool], int], counts: dict[bool | None, int], **fields: float
) -> TruthEstimate:
    """Estimate from a table of labels: how many of which verdict and label."""
    pairs = [pair for pair, n in table.items() for _ in range(n)]
    return estimate_share_of_truth([label for _, label in pairs], [verdict for verdict, _ in pairs], counts, **fields)


def test_two_strata_by_hand() -> None:
    """MOVER of two Wilson intervals, and the variance (.9 - .25)² · .8 · .2 / 1000 of the weight."""
    (low_1, high_1), (low_0, high_0) = wilson(72, 80), wilson(10, 40)
    weight = z_quantile(0.95) ** 2 * 0.65**2 * 0.8 * 0.2 / 1000
    mean = 0.8 * 0.9 + 0.2 * 0.25

    low, high = stratified_interval([PASS, FAIL], 0.95)

    assert low == pytest.approx(mean - math.sqrt((0.8 * (0.9 - low_1)) ** 2 + (0.2 * (0.25 - low_0)) ** 2 + weight))
    assert high == pytest.approx(mean + math.sqrt((0.8 * (high_1 - 0.9)) ** 2 + (0.2 * (high_0 - 0.25)) ** 2 + weight))


def test_a_stratum_with_four_failures_is_exact_and_one_with_five_is_not() -> None:
    assert stratified_interval([Stratum("pass", 10**9, 50, 46)], 0.95) == pytest.approx(clopper_pearson(46, 50))
    assert stratified_interval([Stratum("pass", 10**9, 50, 45)], 0.95) == pytest.approx(wilson(45, 50))


def test_a_finite_set_is_known_better_and_exactly_once_all_is_labelled() -> None:
    low, high = stratified_interval([PASS, FAIL], 0.95)
    finite_low, finite_high = finite_interval([PASS, FAIL], 0.95)
    assert low < finite_low < finite_high < high
    assert finite_interval([Stratum("pass", 30, 30, 21), Stratum("fail", 10, 10, 1)], 0.95) == (0.55, 0.55)


def test_a_stratum_without_labels_may_have_any_share() -> None:
    low, high = finite_interval([Stratum("pass", 90, 90, 90), Stratum("fail", 10, 0, 0)], 0.95)
    assert (low, high) == (pytest.approx(0.9), pytest.approx(1.0))


def test_more_labels_reach_a_width_and_all_of_them_may_not() -> None:
    strata = [Stratum("pass", 80_000, 80, 72), Stratum("fail", 20_000, 40, 10)]
    low, high = stratified_interval(strata, 0.95)
    n = labels_for_width(strata, (high - low) / 2, 0.95)

    assert n is not None and 400 < n < 560
    assert labels_for_width(strata, high - low, 0.95) == 120
    assert labels_for_width([PASS, FAIL], 0.01, 0.95) is None


def test_a_width_below_the_least_needs_more_scores() -> None:
    """The draw of 200 of 1000 scores with 67 fails, 37 of which people pass: all 1000 labels miss five points."""
    table: dict[tuple[bool | None, bool], int] = {(True, True): 133, (False, True): 37, (False, False): 30}
    counts: dict[bool | None, int] = {True: 600, False: 400}
    share = 37 / 67

    def width_by_hand(n: int) -> float:
        n_pass, n_fail = 133 * n / 200, 67 * n / 200
        (low_1, high_1), (low_0, high_0) = clopper_pearson(n_pass, n_pass), wilson(share * n_fail, n_fail)
        weight = z_quantile(0.95) ** 2 * (1 - share) ** 2 * 0.6 * 0.4 / 1000
        below = math.sqrt((0.6 * (1 - low_1)) ** 2 + (0.4 * (share - low_0)) ** 2 + weight)
        return below + math.sqrt((0.6 * (high_1 - 1)) ** 2 + (0.4 * (high_0 - share)) ** 2 + weight)

    missed, found = estimate(table, counts, width=0.05), estimate(table, counts, width=0.06)
    assert missed.n_for_width is None
    assert missed.least_width == pytest.approx(width_by_hand(1000)) == pytest.approx(0.0505, abs=0.0001)
    assert found.n_for_width is not None and 200 < found.n_for_width < 1000
    assert width_by_hand(found.n_for_width) <= 0.06 < width_by_hand(found.n_for_width - 1)


@pytest.mark.parametrize(("n_fail", "n_right"), [(60, 20), (60, 30), (60, 45), (80, 50), (100, 50), (100, 90)])
def test_the_labels_for_a_width_agree_with_the_width_now(n_fail: int, n_right: int) -> None:
    """A number or a reason, whatever was drawn; and the number is below n where the width is reached already."""
    table: dict[tuple[bool | None, bool], int] = {
        (True, True): 200 - n_fail, (False, True): n_right, (False, False): n_fail - n_right,
    }  # fmt: skip
    for width in (0.04, 0.05, 0.06, 0.08, 0.1, 0.12):
        found = estimate(table, {True: 600, False: 400}, width=width)
        assert found.upper is not None and found.lower is not None and found.least_width is not None
        assert (found.n_for_width is None) is (found.least_width > width)
        assert found.n_for_width is None or (found.n_for_width <= 200) is (found.upper - found.lower <= width)


def test_fewer_than_twenty_labels_have_no_interval() -> None:
    found = estimate({(True, True): 15, (False, False): 4}, {True: 800, False: 200})

    assert (found.n, found.n_more, found.reason) == (19, 1, "too_few_labels")
    assert (found.estimate, found.lower, found.running, found.kappa) == (None, None, None, None)
    assert found.naive == 0.8


def test_three_rows_that_are_all_labelled_are_known() -> None:
    found = estimate({(True, True): 2, (False, True): 1}, {True: 2, False: 1})

    assert (found.estimate, found.this_set, found.lower, found.n_more) == (1.0, (1.0, 1.0), None, 17)


def test_no_label_at_all() -> None:
    found = estimate({}, {True: 8, False: 2})
    assert (found.n, found.n_more, found.estimate, found.this_set) == (0, LEAST_LABELS, None, None)


def test_all_rows_labelled_leave_new_data_uncertain() -> None:
    found = estimate({(True, True): 30, (True, False): 10, (False, False): 20}, {True: 40, False: 20})

    assert found.this_set == (0.5, 0.5)
    assert found.lower is not None and found.upper is not None
    assert (found.lower, found.upper) == pytest.approx(wilson(30, 60), abs=0.03)


def test_equal_labels_are_not_certain() -> None:
    """Thirty passes of thirty: not [1, 1], and not less than the failing stratum allows."""
    found = estimate({(True, True): 30}, {True: 900, False: 100})

    assert found.estimate == 1.0 and found.upper == 1.0
    assert found.lower is not None and 0.8 < found.lower < 0.9
    assert [stratum.n for stratum in found.strata] == [30, 0]
    assert found.kappa is not None and found.kappa.reason == "all_answers_equal"
    assert found.specificity is not None and found.specificity.value is None


def test_an_evaluator_that_passes_everything_adds_nothing() -> None:
    found = estimate({(True, True): 90, (True, False): 10}, {True: 10**8})

    assert found.labels_only is not None
    assert (found.lower, found.upper) == pytest.approx(wilson(90, 100))
    assert (found.labels_only.lower, found.labels_only.upper) == pytest.approx(clopper_pearson(90, 100))
    assert found.sensitivity is not None and found.sensitivity.value == 1.0
    assert found.specificity is not None and found.specificity.value == 0.0


def test_undecided_rows_are_a_stratum_and_not_in_the_comparison() -> None:
    table = {(True, True): 50, (True, False): 10, (False, False): 30, (None, True): 4, (None, False): 6}
    found = estimate(table, {True: 600, False: 300, None: 100})

    assert [(stratum.verdict, stratum.n, stratum.successes) for stratum in found.strata] == [
        ("pass", 60, 50), ("fail", 30, 0), ("undecided", 10, 4),
    ]  # fmt: skip
    assert found.estimate == pytest.approx(0.6 * 50 / 60 + 0.1 * 0.4)
    assert found.naive == pytest.approx(6 / 9)
    assert found.sensitivity is not None and found.sensitivity.n == 50
    assert found.kappa is not None and found.kappa.n_items == 90


def test_labels_saved_are_those_that_alone_would_be_as_narrow() -> None:
    found = estimate(
        {(True, True): 55, (True, False): 5, (False, False): 35, (False, True): 5}, {True: 6000, False: 4000}
    )
    assert found.n_alone is not None and found.lower is not None and found.upper is not None
    share, width = 60 / 100, found.upper - found.lower

    low, high = clopper_pearson(share * found.n_alone, found.n_alone)
    assert high - low <= width
    low, high = clopper_pearson(share * (found.n_alone - 1), found.n_alone - 1)
    assert high - low > width
    assert found.labels_saved == found.n_alone - 100 > 50


def test_more_labels_than_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="pass has 2 of 1"):
        estimate({(True, True): 2}, {True: 1, False: 5})


# --- Numbers ---------------------------------------------------------------------------------------------------------


def test_scores_that_follow_labels_narrow_the_interval_of_a_mean() -> None:
    rng = np.random.default_rng(1)
    labels = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], 5000)
    scores = np.clip(labels + rng.normal(0.0, 0.1, 5000), 0.0, 1.0)

    found = estimate_mean_of_truth(labels[:200], scores[:200], scores, limits=(0.0, 1.0), width=0.05)

    assert found.lower is not None and found.upper is not None and found.labels_only is not None
    assert found.lower < labels.mean() < found.upper
    assert found.labels_only.lower is not None and found.labels_only.upper is not None
    assert found.upper - found.lower < 0.6 * (found.labels_only.upper - found.labels_only.lower)
    assert found.n_alone is not None and found.n_alone > 500
    assert found.n_for_width is not None and found.n_for_width > 50
    assert found.least_width is not None and found.least_width < 0.05
    assert found.strata == () and found.method == "guarded-t"


def test_scores_without_spread_leave_the_labels_alone() -> None:
    labels = np.tile([0.0, 0.5, 1.0], 20)
    found = adjusted_mean(labels, np.ones(60), np.ones(10**6), level=0.95, limits=(0.0, 1.0))
    alone = estimate_mean_of_truth(labels, np.ones(60), np.ones(10**6), limits=(0.0, 1.0)).labels_only

    assert found.estimate == pytest.approx(0.5)
    assert alone is not None and found.new_data == (pytest.approx(alone.lower), pytest.approx(alone.upper))


def test_labels_without_a_range_have_students_t_and_nothing_to_watch() -> None:
    labels = np.arange(40.0)
    found = estimate_mean_of_truth(labels, labels % 7, np.arange(400.0), limits=None)
    flat = estimate_mean_of_truth(np.ones(40), np.ones(40), np.arange(400.0), limits=None)

    assert (found.method, found.running) == ("t", None)
    assert (flat.lower, flat.method, flat.reason) == (None, None, "no_interval")


def test_all_rows_labelled_give_their_mean() -> None:
    labels, scores = np.tile([0.0, 1.0, 1.0], 10), np.tile([0.2, 0.9, 0.4], 10)
    found = estimate_mean_of_truth(labels, scores, scores, limits=(0.0, 1.0))
    few = estimate_mean_of_truth(labels[:3], scores[:3], scores[:3], limits=(0.0, 1.0))

    assert found.this_set == pytest.approx((2 / 3, 2 / 3))
    assert few.this_set == pytest.approx((2 / 3, 2 / 3)) and few.n_more == 17


def test_the_running_interval_only_learns_from_earlier_labels() -> None:
    """The last label cannot change what was betted on the others: swapped, it moves the interval by its own bet."""
    scores = np.tile([1.0, 0.0, 1.0, 1.0], 100)
    labels = scores.copy()
    before = running_interval(labels[:80], scores[:80], scores, level=0.95, limits=(0.0, 1.0))
    labels[80] = 1.0 - labels[80]
    after = running_interval(labels[:81], scores[:81], scores, level=0.95, limits=(0.0, 1.0))

    assert before[0] < 0.75 < before[1]
    assert after == pytest.approx(before, abs=0.05)
