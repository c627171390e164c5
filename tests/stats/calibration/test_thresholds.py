"""Thresholds against theory: their intervals cover what new rows show, and fixed cases come out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evalsvc.stats.calibration.figures import (
    FIGURES,
    Decisions,
    balanced_change,
    build_decisions,
    compute_figures,
    compute_rates,
)
from evalsvc.stats.calibration.needed import is_narrow, labels_to_decide
from evalsvc.stats.calibration.selection import Aim, LabelledScores
from evalsvc.stats.calibration.thresholds import choose_threshold
from evalsvc.stats.formulas.confusion import Proportion

ROUNDS = 40
Drawn = tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.bool_]]]


def drawn(rng: np.random.Generator, n: int, apart: float, share: float) -> Drawn:
    is_good = rng.random(n) < share
    return 1 / (1 + np.exp(-(rng.normal(size=n) + apart * is_good))), is_good


@pytest.mark.parametrize(
    ("n", "apart", "share", "aim"),
    [
        (40, 1.5, 0.5, Aim("precision", 0.8)),
        (150, 0.5, 0.5, Aim()),
        (150, 3.0, 0.8, Aim("false_positive_rate", 0.2)),
    ],
)
def test_intervals_cover_what_new_rows_show(n: int, apart: float, share: float, aim: Aim) -> None:
    """Wilson's intervals of cross-validated counts cover as few as 77 % where scores hardly tell good from bad."""
    rng = np.random.default_rng(11)
    new_scores, new_labels = drawn(rng, 100_000, apart, share)
    covered: dict[str, int] = dict.fromkeys((*FIGURES, "change"), 0)
    for seed in range(ROUNDS):
        scores, is_good = drawn(rng, n, apart, share)
        while min(is_good.sum(), (~is_good).sum()) < 10:
            scores, is_good = drawn(rng, n, apart, share)
        found = choose_threshold(scores, is_good, aim=aim, in_use=0.5, seed=seed)
        true = compute_rates(build_decisions(new_labels, new_scores >= found.threshold))
        for name in FIGURES:
            lower, upper = found.figures[name].lower, found.figures[name].upper
            assert lower is not None and upper is not None
            covered[name] += bool(lower <= true[name] <= upper)
        at_half = compute_rates(build_decisions(new_labels, new_scores >= 0.5))["balanced_accuracy"]
        assert found.change is not None
        covered["change"] += bool(found.change[1] <= true["balanced_accuracy"] - at_half <= found.change[2])

    # Of 40 rounds at 95 %, 33 or fewer happen once in 200.
    assert min(covered.values()) >= 34, covered


def test_a_threshold_lies_between_scores_and_costs_least() -> None:
    scores = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9])
    is_good = np.array([False, False, True, False, False, True, True, True])
    data, every = LabelledScores(scores, is_good), np.ones((1, 8))

    def best(aim: Aim) -> float:
        return round(float(data.thresholds[data.best(every, aim)[0]]), 3)

    assert best(Aim()) == 0.65
    assert best(Aim("recall", 1.0)) == 0.25


def test_a_bound_is_kept_at_a_distance_that_more_rows_make_smaller() -> None:
    found = []
    for n in (100, 1000, 10_000):
        is_good = np.arange(n) % 2 == 0
        scores = np.where(is_good, 0.3, 0.0) + np.arange(n) / n * 0.7
        data, every = LabelledScores(scores, is_good), np.ones((1, n))
        (chosen,) = data.best(every, Aim("false_positive_rate", 0.2))
        found.append(float(compute_rates(data.passing(every))["false_positive_rate"][0, chosen]))

    assert found == sorted(found)
    assert found[0] < 0.12
    assert 0.18 < found[-1] < 0.2


def test_what_is_out_of_reach_comes_as_near_as_it_gets() -> None:
    scores = np.array([0.1, 0.2, 0.8, 0.9])
    is_good = np.array([True, False, True, False])
    data = LabelledScores(scores, is_good)

    (chosen,) = data.best(np.ones((1, 4)), Aim("precision", 0.99))

    assert compute_rates(data.passing(np.ones((1, 4))))["precision"][0, chosen] == 0.5


def test_weights_are_as_so_many_rows() -> None:
    rng = np.random.default_rng(2)
    scores, is_good = drawn(rng, 50, 1.0, 0.5)
    copies = rng.integers(0, 4, size=50)
    weighted = LabelledScores(scores, is_good)
    written_out = LabelledScores(np.repeat(scores, copies), np.repeat(is_good, copies))
    ordered = copies[np.argsort(scores, kind="stable")].astype(float)

    one = weighted.best(ordered[None, :], Aim("accuracy"))[0]
    other = written_out.best(np.ones((1, int(copies.sum()))), Aim("accuracy"))[0]

    by_weights = compute_rates(weighted.passing(ordered[None, :]))["accuracy"][0, one]
    assert by_weights == pytest.approx(
        compute_rates(written_out.passing(np.ones((1, copies.sum()))))["accuracy"][0, other]
    )


@pytest.mark.parametrize(
    ("figure", "bound"), [("precision", None), ("accuracy", 0.5), ("taste", None), ("false_positive_rate", None)]
)
def test_an_aim_that_makes_no_sense_is_refused(figure: str, bound: float | None) -> None:
    with pytest.raises(ValueError, match=r"bound|must be one of"):
        Aim(figure, bound)


def test_figures_are_those_of_the_counts() -> None:
    found = compute_figures(Decisions(*(np.float64(n) for n in (45, 50, 10, 50))), 0.95)

    values = {name: round(share.value or 0.0, 4) for name, share in found.items()}
    assert values == {
        "balanced_accuracy": 0.85, "accuracy": 0.85, "precision": 0.8182, "recall": 0.9, "false_positive_rate": 0.2,
        "f1": 0.8571,
    }  # fmt: skip
    assert all((share.lower or 0) < (share.value or 0) < (share.upper or 0) for share in found.values())


def test_rows_that_stay_do_not_prove_that_none_would_move() -> None:
    is_good = np.repeat([True, False], 20)

    lower, upper = balanced_change(is_good, is_good, is_good, 0.95)

    assert lower < 0 < upper
    assert upper - lower > 0.05


def test_more_labels_shrink_an_interval_to_its_bound() -> None:
    share = Proportion(0.8, 0.73, 0.86, 150, "wilson")

    more = labels_to_decide(share, 300, is_narrow, 0.95)

    assert more is not None
    assert 100 < more < 400
    assert labels_to_decide(share, 300, lambda lower, upper: True, 0.95) == 0
    assert labels_to_decide(share, 300, lambda lower, upper: lower > 0.9, 0.95) is None
