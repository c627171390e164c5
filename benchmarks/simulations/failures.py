"""Outputs that fail where a config would have been wrong: its interval, who leads, and whether the warning comes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr  # type: ignore[import-untyped, unused-ignore]

from benchmarks.simulations.populations import Row
from benchmarks.simulations.report import Figure, Table, repeats, share
from evalsvc.stats.formulas.intervals import clopper_pearson
from evalsvc.stats.pairs.failures import has_failed_at_random

LEVEL, EXAMPLES = 0.95, 400
# How much of whether an answer is right is the difficulty of the example, which all configs share.
SHARED = 0.6
# Shares of right answers, and of the wrong ones that fail: 5 to 12 % of all outputs.
RIGHT, FAILING = (0.7, 0.8), (0.0, 0.25, 0.5)
BEHIND = (0.0, 0.03)
FAILURES, OTHERS = (8, 20, 41), (1, 3)
Rng = np.random.Generator


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield what failures do to an estimate and to the leader, and the power of the test of their randomness."""
    yield Table(
        "A config that fails on a part of the examples that it would have answered wrong, 400 examples.",
        "The interval covers the share of right answers of all examples in 94 % or more. Where it is no better than"
        " another config it leads in at most about half of the runs. At 3 points behind it leads as seldom as where all its"
        " outputs are seen, the floor of a choice by the higher of two shares, and never only because some failed.",
        (
            "right answers",
            "failing of the wrong",
            "covered",
            "leads, level",
            "leads, 3 points behind",
            "all outputs seen",
            "only because some failed",
        ),
        tuple(
            ((f"{100 * right:g}%", f"{100 * failing:g}%"), _estimate(right, failing, scale, seed))
            for right in RIGHT
            for failing in FAILING
        ),
    )
    yield Table(
        "The warning that failures are not at random, 400 examples of which 20 % are answered wrong.",
        "With 3 other configs it comes in 83 % or more at 20 failures and in 97 % at 41; at most 1 % of failures at random are warned"
        " of.",
        ("failures", "other configs", "failing where wrong", "failing at random"),
        tuple(
            ((str(n_failed), str(n_others)), _warned(n_failed, n_others, scale, seed))
            for n_failed in FAILURES
            for n_others in OTHERS
        ),
    )


def _draw_right(rng: Rng, rates: Row) -> Row:
    """Return whether each config is right on each example, as an array of configs by examples."""
    ability = np.sqrt(SHARED) * rng.normal(size=EXAMPLES) + np.sqrt(1.0 - SHARED) * rng.normal(
        size=(rates.size, EXAMPLES)
    )
    return np.asarray(ndtr(ability) < rates[:, None], dtype=np.float64)


def _estimate(right: float, failing: float, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, int(100 * right), int(100 * failing)])
    n_repeats = repeats(8000, scale)
    covered, leads, seen = [], {gap: [] for gap in BEHIND}, {gap: [] for gap in BEHIND}
    for _ in range(n_repeats):
        scores = _draw_right(rng, np.array([right, *(right + gap for gap in BEHIND)]))
        # What fails would have been wrong: as the worst value it counts as much as the wrong answer.
        answered = (scores[0] == 1.0) | (rng.random(EXAMPLES) >= failing)
        n_right = int(scores[0][answered].sum())
        lower, upper = clopper_pearson(n_right, EXAMPLES, LEVEL)
        covered.append(lower <= right <= upper)
        for gap, other in zip(BEHIND, scores[1:], strict=True):
            leads[gap].append(n_right > other.sum())
            seen[gap].append(scores[0].sum() > other.sum())
    return (
        share(np.array(covered), least=0.94),
        share(np.array(leads[0.0]), most=0.52),
        share(np.array(leads[0.03]), most=0.12),
        share(np.array(seen[0.03])),
        share(np.array(leads[0.03]) & ~np.array(seen[0.03]), most=0.0),
    )


def _warned(n_failed: int, n_others: int, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, n_failed, n_others])
    warned: dict[bool, list[bool]] = {True: [], False: []}
    for _ in range(repeats(1000, scale)):
        scores = _draw_right(rng, np.full(1 + n_others, 0.8))
        others = scores[1:].mean(axis=0)
        for is_where_wrong, found in warned.items():
            candidates = np.flatnonzero(scores[0] == 0.0) if is_where_wrong else np.arange(EXAMPLES)
            failed = np.zeros(EXAMPLES, dtype=np.bool_)
            failed[rng.choice(candidates, min(n_failed, candidates.size), replace=False)] = True
            found.append(not has_failed_at_random(others, failed))
    least = {20: 0.83, 41: 0.97}.get(n_failed) if n_others >= 3 else None
    return share(np.array(warned[True]), least=least), share(np.array(warned[False]), most=0.01)
