"""What a decision may rest on while a plan runs, and intersections that hold at all examples together."""

from __future__ import annotations

import numpy as np
import pytest

from evalsvc.stats.anytime import anytime_share, running_share
from evalsvc.stats.betting import betting_interval
from evalsvc.stats.decisions import DecisionInterval, decision_interval
from evalsvc.stats.running import estimate
from evalsvc.stats.sums import sums_of

from .populations import draw
from .reference import Row

NAN = float("nan")


def ask(scores: list[float] | Row, kind: str = "algebraic", **changes: object) -> DecisionInterval:
    row = np.asarray(scores, dtype=np.float64)
    arguments: dict[str, object] = {
        "population": 400,
        "n_looks": 7,
        "level": 0.95,
        "value_range": (0.0, 1.0),
        "binary": False,
        "scores": row,
    } | changes
    return decision_interval(kind, sums_of(row[~np.isnan(row)]), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("population", [None, 60])
def test_a_running_share_is_what_the_intervals_so_far_have_in_common(population: int | None) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        row = (rng.random(40) < rng.random()).astype(float)
        seen = np.cumsum(row).astype(int).tolist()
        each = [anytime_share(ones, n, population, 0.9) for n, ones in enumerate(seen, 1)]
        lower, upper = max(low for low, _ in each), min(high for _, high in each)

        if lower < upper:
            assert running_share(row, population, 0.9) == pytest.approx((lower, upper), abs=1e-9)


@pytest.mark.parametrize("population", [None, 60])
def test_a_running_bet_is_what_the_intervals_so_far_have_in_common(population: int | None) -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        row = rng.beta(2, 1, 40)
        each = np.array([betting_interval(row[:n], population, 0.9, (0.0, 1.0)) for n in range(1, 41)])
        lower, upper = each[:, 0].max(), each[:, 1].min()

        if lower < row.mean() < upper:
            assert betting_interval(row, population, 0.9, (0.0, 1.0), running=True) == pytest.approx(
                (lower, upper), abs=1e-5
            )


def test_an_intersection_is_narrower() -> None:
    rng = np.random.default_rng(3)
    rows = [(rng.permutation(400) < 200).astype(float)[:200] for _ in range(40)]
    running = [np.diff(running_share(row, 400, 0.95))[0] for row in rows]
    present = [np.diff(anytime_share(int(row.sum()), 200, 400, 0.95))[0] for row in rows]

    assert 0.8 < np.mean(running) / np.mean(present) < 0.95


@pytest.mark.parametrize("binary", [True, False])
def test_intersections_miss_at_any_example_no_more_often_than_they_say(binary: bool) -> None:
    rng = np.random.default_rng(4)
    values = np.sort(rng.beta(0.3, 3, 80)) if not binary else np.repeat([1.0, 0.0], [72, 8])
    missed = 0
    for _ in range(250):
        row = rng.permutation(values)
        found = [
            running_share(row[:n], 80, 0.8) if binary else betting_interval(row[:n], 80, 0.8, (0.0, 1.0), running=True)
            for n in range(5, 80, 15)
        ]
        # What is ruled out once stays out: each look tells of all examples since the one before.
        missed += not all(lower - 1e-9 <= values.mean() <= upper + 1e-9 for lower, upper in found)

    assert missed / 250 <= 0.2 + 3 * np.sqrt(0.16 / 250)


@pytest.mark.parametrize("binary", [True, False])
def test_failed_examples_widen_by_what_they_could_have_scored(binary: bool) -> None:
    rng = np.random.default_rng(5)
    row = (rng.random(100) < 0.8).astype(float) if binary else rng.random(100)
    failed = row.copy()
    failed[[3, 40, 77]] = NAN

    def ends(scores: Row) -> tuple[float, float]:
        if binary:
            return running_share(scores, 400, 0.95)
        return betting_interval(scores, 400, 0.95, (0.0, 1.0), running=True)

    assert ends(failed)[0] == ends(np.where(np.isnan(failed), 0.0, failed))[0]
    assert ends(failed)[1] == ends(np.where(np.isnan(failed), 1.0, failed))[1]


def test_a_set_with_failures_stays_open_by_their_bounds() -> None:
    row = np.random.default_rng(6).random(50)
    row[:5] = NAN
    known = float(np.nansum(row))

    assert betting_interval(row, 50, 0.95, (0.0, 1.0), running=True) == pytest.approx((known / 50, (known + 5) / 50))


def test_binary_metrics_split_the_error_over_the_shard_ends() -> None:
    scores = [1.0] * 45 + [0.0] * 5
    expected = estimate(
        "algebraic",
        sums_of(scores),
        population=400,
        strategy="exact",
        level=1 - 0.05 / 7,
        value_range=(0, 1),
        binary=True,
        use_fpc=True,
    )

    found = ask(scores, binary=True)

    assert (found.lower, found.upper, found.safe) == (expected.lower, expected.upper, "planned looks")


@pytest.mark.parametrize("kind", ["algebraic", "distributive"])
def test_scores_in_a_range_bet_at_the_level_of_the_plan(kind: str) -> None:
    row = np.random.default_rng(7).random(50)
    row[7] = NAN
    unit = betting_interval(row, 400, 0.95, (0.0, 1.0), running=True)

    found = ask(row, kind)

    assert (found.lower, found.upper) == pytest.approx(unit if kind == "algebraic" else [400 * end for end in unit])
    assert (found.level, found.method, found.safe, found.reason) == (0.95, "betting", "safe while watched", None)


def test_without_a_range_there_is_nothing_to_decide_on() -> None:
    assert ask([1.0, 2.0], value_range=None).reason == "no_range"
    assert ask([1.0, 2.0], "untyped", value_range=None).reason == "untyped"
    assert ask([]).reason == "no_scores"
    assert ask([1.0, 2.0], value_range=None).lower is None


@pytest.mark.parametrize("population", ["rare failures", "uniform", "zero-inflated"])
def test_decisions_hold_at_all_looks_together(population: str) -> None:
    rows, _ = draw(population, 80, 100, seed=8)
    missed = 0
    for row in rows:
        found = [ask(row[:n], population=100) for n in range(12, 100, 12)]
        lows, highs = (
            [one.lower for one in found if one.lower is not None],
            [one.upper for one in found if one.upper is not None],
        )
        assert len(lows) == len(highs) == 8
        missed += not (max(lows) - 1e-9 <= row.mean() <= min(highs) + 1e-9)

    assert missed / len(rows) <= 0.05
