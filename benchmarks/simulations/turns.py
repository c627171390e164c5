"""Shares over the turns of conversations: coverage with the conversation as the cluster, and that of what it replaces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.simulations.populations import Row
from benchmarks.simulations.report import Figure, Table, repeats, share
from evalsvc.stats.estimates.turns import (
    TurnEstimate,
    TurnTotals,
    estimate_all_turns,
    estimate_per_conversation,
    estimate_per_turn,
)
from evalsvc.stats.formulas.clusters import ClusterSums, IntArray, cluster_mean_interval
from evalsvc.stats.formulas.intervals import wilson

LEVEL, RUNS, LEAST = 0.95, 3000, 0.945
# So many figures lie at their nominal value that fewer repeats would break some promise by chance.
LEAST_RUNS = 400
SIZES = (20, 50, 200)
CORRELATIONS = (0.3, 0.7)
SHARES = (0.75, 0.95)
LENGTHS = ("1 to 9", "longer where it fails")
# The truth of what depends on the length is that of so many conversations.
N_TRUE = 500_000
ROUNDING = 1e-12
Rng = np.random.Generator


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield coverage of the three numbers, and of intervals over turns."""
    settings = [(lengths, rho, p, n) for lengths in LENGTHS for rho in CORRELATIONS for p in SHARES for n in SIZES]
    yield Table(
        "Shares over turns, new conversations, one look.",
        "Each of the three covers in 94.5 % or more. Beside them, without a promise: CR1, and Wilson over all turns.",
        (
            *("turns", "correlation", "chance to pass", "conversations"),
            *("`per_turn`", "`per_conversation`", "`all_turns`", "`cr1`", "Wilson over turns"),
        ),
        tuple(
            ((lengths, f"{rho:g}", f"{p:g}", str(n)), _cover(lengths, rho, p, n, scale, seed))
            for lengths, rho, p, n in settings
        ),
    )


def _draw(rng: Rng, lengths: str, rho: float, p: float, n: int) -> tuple[IntArray, Row]:
    """Return how many turns each conversation has, and how many of them pass.

    The chances of conversations are beta distributed, so that two turns of one correlate by rho. Users go on asking
    where the assistant fails: the length then rises with the chance to fail.
    """
    odds = (1.0 - rho) / rho
    chances = rng.beta(p * odds, (1.0 - p) * odds, n)
    fails = 1.0 - chances if lengths != LENGTHS[0] else np.full(n, 0.5)
    turns = 1 + rng.binomial(8, 0.1 + 0.8 * fails)
    return turns, rng.binomial(turns, chances).astype(np.float64)


def _total(turns: IntArray, passed: Row) -> TurnTotals:
    return TurnTotals(turns, passed, passed, passed / turns, passed == turns)


def _cover(lengths: str, rho: float, p: float, n: int, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, n, round(100 * rho), round(100 * p), LENGTHS.index(lengths)])
    turns, passed = _draw(rng, lengths, rho, p, N_TRUE)
    truths = float(passed.sum() / turns.sum()), float((passed / turns).mean()), float((passed == turns).mean())
    covered: list[list[bool]] = []
    for _ in range(max(LEAST_RUNS, repeats(RUNS, scale))):
        turns, passed = _draw(rng, lengths, rho, p, n)
        found = _total(turns, passed)
        estimates = (
            estimate_per_turn(found, level=LEVEL),
            estimate_per_conversation(found, level=LEVEL),
            estimate_all_turns(found, level=LEVEL),
        )
        covered.append(
            [
                *(_holds(estimate, truth) for estimate, truth in zip(estimates, truths, strict=True)),
                *(ends is not None and ends[0] <= truths[0] <= ends[1] for ends in _replaced(turns, passed)),
            ]
        )
    columns = list(zip(*covered, strict=True))
    return (*(share(column, least=LEAST) for column in columns[:3]), *(share(column) for column in columns[3:]))


def _holds(estimate: TurnEstimate | None, truth: float) -> bool:
    if estimate is None or estimate.lower is None or estimate.upper is None:
        raise RuntimeError("Scores in a range have an interval.")
    return estimate.lower - ROUNDING <= truth <= estimate.upper + ROUNDING


def _replaced(turns: IntArray, passed: Row) -> tuple[tuple[float, float] | None, ...]:
    n, total = int(turns.sum()), float(passed.sum())
    sums = ClusterSums(turns.size, n, total, float(passed @ passed), float(passed @ turns), float(turns @ turns), total)
    return cluster_mean_interval(sums, level=LEVEL)[0], wilson(round(total), n, LEVEL)
