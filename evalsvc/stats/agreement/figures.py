"""Figures of agreement: Cohen's and Fleiss' kappa, Krippendorff's alpha, and the plain share that agrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from evalsvc.stats.agreement.bootstrap import (
    LEAST_ITEMS,
    NO_PAIRS,
    NOT_TWO,
    UNEVEN,
    AgreementFigure,
    Floats,
    Statistic,
    build_figure,
)
from evalsvc.stats.agreement.kappa import kappa_of_counts

Measurement: TypeAlias = Literal["nominal", "ordinal", "interval"]
Ratings: TypeAlias = Sequence[Mapping[str, float | str]]
"""For each item what its raters said, by rater; whoever has not answered is not there."""


def krippendorff_alpha(
    ratings: Ratings, measurement: Measurement, *, level: float = 0.95, seed: int = 0
) -> AgreementFigure:
    """Return Krippendorff's alpha, for any number of raters and any pattern of missing answers.

    It is 1 - D_o/D_e; see Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability". The difference of two
    answers is 0 or 1 (nominal), of their middle ranks among all answers (ordinal), or of their values (interval),
    squared. Items with fewer than two answers are ignored.

    Examples
    --------
    >>> pairs = [("a", "a"), ("a", "a"), ("b", "b"), ("a", "b")]
    >>> found = krippendorff_alpha([{"x": x, "y": y} for x, y in pairs], "nominal")
    >>> round(found.value, 3), found.reason
    (0.533, 'too_few_items')
    """
    if measurement == "interval":
        return _interval_alpha(ratings, level, seed)
    counts, times = _count_kinds(ratings)
    alpha = _nominal(counts) if measurement == "nominal" else _ordinal(counts)
    return build_figure(alpha, times=times, n_answers=int(times @ counts.sum(axis=1)), level=level, seed=seed)


def _nominal(counts: Floats) -> Statistic:
    sizes = counts.sum(axis=1)
    within = (sizes * sizes - (counts * counts).sum(axis=1)) / np.maximum(sizes - 1, 1)

    def alpha(weights: Floats) -> Floats:
        totals = weights @ counts
        n = totals.sum(axis=1)
        return _one_minus((n - 1) * (weights @ within), n * n - (totals * totals).sum(axis=1))

    return alpha


def _ordinal(counts: Floats) -> Statistic:
    sizes = counts.sum(axis=1)

    def alpha(weights: Floats) -> Floats:
        totals = weights @ counts
        n = totals.sum(axis=1)
        # The middle ranks are those of the resample: they are made of its own answers.
        ranks = np.cumsum(totals, axis=1) - totals / 2
        sums, squares = ranks @ counts.T, (ranks * ranks) @ counts.T
        within = 2 * (sizes * squares - sums * sums) / np.maximum(sizes - 1, 1)
        first, second = (totals * ranks).sum(axis=1), (totals * ranks * ranks).sum(axis=1)
        return _one_minus((n - 1) * (weights * within).sum(axis=1), 2 * (n * second - first * first))

    return alpha


def _interval_alpha(ratings: Ratings, level: float, seed: int) -> AgreementFigure:
    items = [np.array([float(value) for value in item.values()]) for item in ratings if len(item) > 1]
    # Differences alone matter; about the middle they lose no digits.
    middle = float(np.concatenate(items).mean()) if items else 0.0
    sizes = np.array([values.size for values in items], dtype=float)
    sums = np.array([(values - middle).sum() for values in items])
    squares = np.array([((values - middle) ** 2).sum() for values in items])
    within = 2 * (sizes * squares - sums * sums) / np.maximum(sizes - 1, 1)

    def alpha(weights: Floats) -> Floats:
        n, first, second = weights @ sizes, weights @ sums, weights @ squares
        return _one_minus((n - 1) * (weights @ within), 2 * (n * second - first * first))

    return build_figure(alpha, times=np.ones(len(items)), n_answers=int(sizes.sum()), level=level, seed=seed)


def fleiss_kappa(ratings: Ratings, *, level: float = 0.95, seed: int = 0) -> AgreementFigure:
    """Return Fleiss' kappa, for items with the same number of answers each, by any raters.

    κ = (P̄ - P̄e) / (1 - P̄e) (Fleiss 1971, "Measuring nominal scale agreement among many raters"). Items with fewer
    than
    two answers are ignored.
    """
    counts, times = _count_kinds(ratings)
    sizes = counts.sum(axis=1)
    n_answers = int(times @ sizes)
    if not len(counts):
        return AgreementFigure(None, None, None, 0, 0, NO_PAIRS)
    if np.ptp(sizes):
        return AgreementFigure(None, None, None, int(times.sum()), n_answers, UNEVEN)
    m = float(sizes[0])
    shares = ((counts * counts).sum(axis=1) - m) / (m * (m - 1))

    def kappa(weights: Floats) -> Floats:
        n = weights.sum(axis=1)
        by_chance = ((weights @ counts / (n * m)[:, None]) ** 2).sum(axis=1)
        return _one_minus(1 - weights @ shares / n, 1 - by_chance)

    return build_figure(kappa, times=times, n_answers=n_answers, level=level, seed=seed)


def cohen_kappa(ratings: Ratings, *, level: float = 0.95, seed: int = 0) -> AgreementFigure:
    """Return Cohen's kappa of two raters, over the items that both have answered.

    κ = (p_o - p_e) / (1 - p_e) (Cohen 1960, "A coefficient of agreement for nominal scales"). With two answers the
    interval is that of `kappa.kappa_of_counts`, which holds where one of them is rare.
    """
    raters = sorted({rater for item in ratings for rater in item})
    if len(raters) != 2:
        return AgreementFigure(None, None, None, 0, 0, NOT_TWO)
    first, second = raters
    rated_pairs = [(item[first], item[second]) for item in ratings if len(item) == 2]
    if not rated_pairs:
        return AgreementFigure(None, None, None, 0, 0, NO_PAIRS)
    words = {word: i for i, word in enumerate(dict.fromkeys(word for pair in rated_pairs for word in pair))}
    kinds = Counter((words[value], words[other]) for value, other in rated_pairs)
    if len(words) == 2 and len(rated_pairs) >= LEAST_ITEMS:
        return kappa_of_counts(*(kinds[pair] for pair in ((0, 0), (0, 1), (1, 0), (1, 1))), level=level)
    times = np.array([*kinds.values()], dtype=float)
    a, b = (np.eye(len(words))[[kind[side] for kind in kinds]] for side in (0, 1))
    agree = (a * b).sum(axis=1)

    def kappa(weights: Floats) -> Floats:
        n = weights.sum(axis=1)
        by_chance = ((weights @ a) * (weights @ b)).sum(axis=1) / (n * n)
        return _one_minus(1 - weights @ agree / n, 1 - by_chance)

    return build_figure(kappa, times=times, n_answers=2 * len(rated_pairs), level=level, seed=seed)


def agreeing_share(ratings: Ratings) -> float | None:
    """Return the mean over items of the share of pairs of answers that are equal; None without a pair."""
    counts, times = _count_kinds(ratings)
    if not len(counts):
        return None
    sizes = counts.sum(axis=1)
    return float(times @ (((counts * counts).sum(axis=1) - sizes) / (sizes * (sizes - 1))) / times.sum())


def disagreement(answers: Sequence[float | str]) -> float:
    """Return how far the answers to one item differ: the share of pairs that do, or of numbers the mean distance."""
    n = len(answers)
    if n < 2:
        return 0.0
    pairs = [(answers[i], answers[j]) for i in range(n) for j in range(i)]
    return sum(_distance(a, b) for a, b in pairs) / len(pairs)


def _distance(a: float | str, b: float | str) -> float:
    if isinstance(a, str) or isinstance(b, str):
        return float(a != b)
    return abs(a - b)


def _count_kinds(ratings: Ratings) -> tuple[Floats, Floats]:
    """Return the kinds of items that have two answers or more, and how often each kind is there.

    A kind is how often each value was given, the values in their order. Of many items few kinds are left to resample.
    """
    rated_items = [tuple(item.values()) for item in ratings if len(item) > 1]
    # Numbers by size, for ranks; texts have no order that matters.
    distinct_values = sorted(
        {value for item in rated_items for value in item}, key=lambda value: (isinstance(value, str), value)
    )
    place = {value: i for i, value in enumerate(distinct_values)}
    kinds = Counter(tuple(sorted(place[value] for value in item)) for item in rated_items)
    counts = np.zeros((len(kinds), len(distinct_values)))
    for row, kind in enumerate(kinds):
        for column in kind:
            counts[row, column] += 1
    return counts, np.array([*kinds.values()], dtype=float)


def _one_minus(observed: Floats, expected: Floats) -> Floats:
    """Return 1 - observed/expected; NaN where nothing could differ."""
    # Sums of squares leave dust where the answer is zero.
    nothing = expected <= 1e-12 * np.maximum(1.0, np.abs(observed))
    return np.where(nothing, np.nan, 1 - observed / np.where(nothing, 1.0, expected))
