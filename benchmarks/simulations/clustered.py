"""Intervals over clusters and repeats, of weighted reviews, and of the leader among several configs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.simulations.populations import Row
from benchmarks.simulations.report import Figure, Ratio, Table, repeats, share
from evalsvc.stats.agreement.draws import draw_poisson, inclusion_probabilities
from evalsvc.stats.agreement.weighted import weighted_mean
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.estimates.newdata import new_data_interval
from evalsvc.stats.formulas.clusters import IntArray, cluster_mean_interval, sum_clusters
from evalsvc.stats.formulas.dirichlet import dirichlet_bound
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.histories.batches import batched_interval
from evalsvc.stats.kinds import ALGEBRAIC
from evalsvc.stats.pairs.clustered import cluster_difference_interval, sum_by_cluster

LEVEL, LEAST = 0.95, 0.94
CORRELATION = 0.3
RANGE = (0.0, 1.0)
TWO_SCORES = "unrelated, two scores"
# How a review draws, and how much more often uncertain items are bad.
DRAWS = {"avoids bad items": -1.0, "unrelated": 0.0, "favours bad items": 1.0, TWO_SCORES: 0.0}
# The true means of K configs.
MEANS: dict[str, Callable[[np.random.Generator, int], Row]] = {
    "equal": lambda rng, k: np.full(k, 0.8),
    "within 2 points": lambda rng, k: 0.8 + 0.02 * (rng.random(k) - 0.5),
    "within 20 points": lambda rng, k: 0.8 + 0.2 * (rng.random(k) - 0.5),
    "one better by 8 points": lambda rng, k: np.r_[0.88, np.full(k - 1, 0.8)],
}


@dataclass(frozen=True, slots=True)
class WidthRatio(Ratio):
    """A mean width over another, with the most that is promised."""

    most: float | None = None

    def is_kept(self) -> bool:
        return self.most is None or self.value <= self.most * (1.0 + self.tolerance / 4.0)


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield coverage over clusters, of repeated questions, of weighted shares, and of leaders."""
    yield Table(
        "Shares over clusters of ten examples, intraclass correlation 0.3.",
        "Estimates and differences promise 94 % or more; CR1 is what is guarded.",
        ("sizes", "clusters", "share", "`cr1`", "`guarded-cr1`", "difference of two equal configs"),
        tuple(
            ((sizes, str(groups), f"{p:g}"), _clusters(sizes == "even", groups, p, scale, seed))
            for sizes in ("even", "uneven")
            for groups in (10, 30, 100)
            for p in (0.01, 0.1, 0.5)
        ),
    )
    yield Table(
        "Golden questions sent again and again; nine answers of ten to a question stay the same.",
        "`batched_interval` with the question as the batch promises 94 % or more.",
        ("questions", "repeats", "rate", "as single scores", "`batched_interval`"),
        tuple(
            ((str(questions), str(times), f"{rate:g}"), _golden(questions, times, rate, scale, seed))
            for questions, times in ((20, 50), (50, 20), (200, 5))
            for rate in (0.85, 0.98)
        ),
    )
    yield Table(
        "Weighted reviews of 2000 items.",
        "`korn-graubard` promises 94 % or more, for the items and for the population they come from.",
        ("drawn", "bad", "draw", "this set", "new data"),
        tuple(
            ((str(n), f"{bad:g}", draw), _review(n, bad, draw, scale, seed))
            for n in (60, 120, 300)
            for bad in (0.02, 0.05, 0.1)
            for draw in DRAWS
        ),
    )
    yield Table(
        "The leader of K configs, lower end at alpha/K.",
        "The interval promises 94 % or more of the leader's true mean, and at K = 16 at most 1.4 times the width of the plain"
        " one. The lower end is Clopper and Pearson's, or Gaffke's for scores between 0 and 1.",
        ("scores", "examples", "configs", "K", "plain", "lower end at alpha/K", "width over plain"),
        tuple(
            ((scores, str(n), configs, str(k)), _leader(scores == "0 or 1", n, configs, k, scale, seed))
            for scores in ("0 or 1", "between 0 and 1")
            for n in (100, 400)
            for configs in MEANS
            for k in (4, 16, 50)
        ),
    )


def _draw(rng: np.random.Generator, p: float, clusters: IntArray, groups: int) -> Row:
    """Draw zeros and ones of this rate, whose intraclass correlation is CORRELATION."""
    odds = (1.0 - CORRELATION) / CORRELATION
    rates = rng.beta(p * odds, (1.0 - p) * odds, groups)[clusters]
    return (rng.random(clusters.size) < rates).astype(np.float64)


def _clusters(is_even: bool, groups: int, p: float, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, groups, round(1000 * p), int(is_even)])
    plain, guarded, differences = [], [], []
    for _ in range(repeats(1000, scale)):
        sizes = np.full(groups, 10) if is_even else rng.geometric(0.1, groups)
        clusters = np.repeat(np.arange(groups), sizes)
        first, second = (_draw(rng, p, clusters, groups) for _ in range(2))
        sums = sum_clusters(first, clusters)
        plain.append(_covers(cluster_mean_interval(sums, level=LEVEL)[0], p))
        guarded.append(_covers(cluster_mean_interval(sums, level=LEVEL, value_range=RANGE)[0], p))
        found = cluster_difference_interval(sum_by_cluster(first - second, clusters), level=LEVEL, reach=1.0)
        differences.append(_covers_zero(found.lower, found.upper))
    return share(plain), share(guarded, least=LEAST), share(differences, least=LEAST)


def _golden(questions: int, times: int, rate: float, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, questions, round(1000 * rate)])
    numbers = np.tile(np.arange(questions), times)
    single, batched = [], []
    for _ in range(repeats(1000, scale)):
        is_right = (rng.random(questions) < rate)[numbers]
        row = np.where(rng.random(numbers.size) < 0.9, is_right, rng.random(numbers.size) < rate).astype(np.float64)
        found = batched_interval(row, numbers, LEVEL, value_range=RANGE)
        batched.append(found.lower is not None and found.upper is not None and found.lower <= rate <= found.upper)
        single.append(_covers(_new_data(row, LEVEL, True), rate))
    return share(single), share(batched, least=LEAST)


def _review(n: int, bad: float, draw: str, scale: float, seed: int) -> tuple[Figure, ...]:
    slope = DRAWS[draw]
    rng = np.random.default_rng([seed, n, round(1000 * bad), [*DRAWS].index(draw)])
    this_set, new_data = [], []
    for i in range(repeats(1000, scale)):
        uncertain = rng.random(2000)
        if draw == TWO_SCORES:
            uncertain = np.where(uncertain < 0.3, 1.0, 0.0)
        is_bad = (rng.random(2000) < (1.0 + slope * (2.0 * uncertain - 1.0)) * bad).astype(np.float64)
        probabilities, _ = inclusion_probabilities(uncertain.tolist(), n)
        drawn = draw_poisson(probabilities, seed=seed + i)
        found = weighted_mean(is_bad[drawn].tolist(), probabilities[drawn].tolist(), level=LEVEL, limits=RANGE)
        this_set.append(_covers(found.this_set, float(is_bad.mean())))
        new_data.append(_covers(found.new_data, bad))
    return share(this_set, least=LEAST), share(new_data, least=LEAST)


def _leader(is_binary: bool, n: int, configs: str, k: int, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, k, n, int(is_binary), *configs.encode()])
    plain, selected, widths = [], [], [0.0, 0.0]
    for _ in range(repeats(1000, scale)):
        means = MEANS[configs](rng, k)
        column = means[:, None]
        if is_binary:
            rows = (rng.random((k, n)) < column).astype(np.float64)
        else:
            rows = rng.beta(4.0 * column, 4.0 * (1.0 - column), (k, n))
        leader = int(rows.sum(axis=1).argmax())
        lower, upper = _new_data(rows[leader], LEVEL, is_binary)
        # As the figures of an experiment: the error of the end that selection makes too good is divided.
        if is_binary:
            stricter, _ = _new_data(rows[leader], 1.0 - (1.0 - LEVEL) / k, True)
        else:
            stricter = min(lower, dirichlet_bound(rows[leader], RANGE[0], (1.0 - LEVEL) / 2.0 / k))
        plain.append(lower <= means[leader] <= upper)
        selected.append(stricter <= means[leader] <= upper)
        widths[0] += upper - lower
        widths[1] += upper - stricter
    width = WidthRatio(widths[1] / widths[0], tolerance=0.1, most=1.4 if k == 16 else None)
    return share(plain), share(selected, least=LEAST), width


def _new_data(row: Row, level: float, is_binary: bool) -> Ends:
    found = new_data_interval(ALGEBRAIC, compute_sums(row), level=level, value_range=RANGE, binary=is_binary)
    if found.lower is None or found.upper is None:
        raise RuntimeError("Scores in a range have an interval.")
    return found.lower, found.upper


def _covers(ends: Ends | None, truth: float) -> bool:
    return ends is not None and ends[0] <= truth <= ends[1]


def _covers_zero(lower: float | None, upper: float | None) -> bool:
    return lower is not None and upper is not None and lower <= 0.0 <= upper
