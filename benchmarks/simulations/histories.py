"""Intervals of a history: small and skewed, in batches, several answers to one question."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.simulations.populations import BOUNDED, Row, drawn
from benchmarks.simulations.report import Figure, Missing, Table, repeats, share
from evalsvc.stats.basics.results import HistoryInterval
from evalsvc.stats.histories.batches import batched_interval
from evalsvc.stats.histories.percentile import history_interval
from evalsvc.stats.strategies.answers import interval_for

LEVEL, SIZES, RESAMPLED_BELOW = 0.95, (10, 20, 30, 100, 1000), 101


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield coverage by strategy, histories in batches, and what experiments promoted."""
    yield Table(
        "Histories of scores that are not 0 or 1.",
        "`auto` promises 94 % or more, `betting` 97.5 %; no history of equal scores counts for `studentized`, whose answer is then the advice.",
        ("scores", "n", "`full-history`", "`auto`", "`studentized`", "`betting`"),
        tuple(((name, str(n)), _strategies(name, n, scale, seed)) for name in BOUNDED for n in SIZES),
    )
    yield Table(
        "Histories in batches of 200, their rates apart by a standard deviation of 0.1.",
        "`batched_interval` promises 94 % or more.",
        ("batches", "`full-history`", "`full-history-block`", "by the width factor", "`batched_interval`"),
        tuple(((str(g),), _batches(g, 200, 0.1, scale, seed)) for g in (5, 12)),
    )
    yield Table(
        "Five answers to each of 80 questions, whose rates differ.",
        "The question is the unit: with its id as the batch 94 % or more.",
        ("questions", "`full-history`", "`full-history-block`", "by the width factor", "`batched_interval`"),
        ((("80",), _batches(80, 5, None, scale, seed)),),
    )
    yield Table(
        "A history of what five experiments of 16 equal configs promoted: 200 examples to choose by, and those of the confirmation.",
        "The examples of the confirmation promise 94 % or more. Those that the leader was chosen by do not, and the interval warns `selected`.",
        ("right answers", "confirmation", "of the confirmation", "of the examples to choose by"),
        tuple(
            ((f"{100 * right:g}%", str(n)), _promoted(right, n, scale, seed)) for right in (0.5, 0.9) for n in (20, 100)
        ),
    )


def _strategies(name: str, n: int, scale: float, seed: int) -> tuple[Figure, ...]:
    rows, mean = drawn(name, repeats(400, scale), n, seed)
    plain = share(_covers(history_interval(row, LEVEL), mean) for row in rows)
    bets = share((_covers(_named("betting", row), mean) for row in rows[: repeats(200, scale)]), least=0.975)
    many, _ = drawn(name, repeats(2000, scale), n, seed)
    auto = share((_covers(_named("auto", row), mean) for row in many), least=0.94)
    if n >= RESAMPLED_BELOW:
        return plain, auto, Missing(), bets
    studentized = (np.ptp(row) == 0.0 or _covers(_named("studentized", row, i), mean) for i, row in enumerate(rows))
    # On little but zeros it is cut at the range; elsewhere it is a bootstrap, and promises nothing.
    return plain, auto, share(studentized, least=0.97 if name == "90 % zeros" and n <= 30 else None), bets


def _named(strategy: str, row: Row, seed: int = 0) -> HistoryInterval:
    return interval_for(strategy, row, LEVEL, value_range=(0.0, 1.0), seed=seed)


def _covers(found: HistoryInterval, mean: float) -> bool:
    return found.lower is not None and found.upper is not None and found.lower <= mean <= found.upper


def _batches(groups: int, size: int, spread: float | None, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, groups, size])
    names = np.repeat(np.arange(groups), size)
    plain, blocks, widened, batched = [], [], [], []
    mean = 0.5 if spread is None else 0.7
    for i in range(repeats(600, scale)):
        # Rates of questions are spread evenly; those of batches lie around 0.7.
        rates = rng.random(groups) if spread is None else np.clip(rng.normal(0.7, spread, groups), 0.0, 1.0)
        row = (rng.random(names.size) < rates[names]).astype(np.float64)
        found = history_interval(row, LEVEL)
        plain.append(_covers(found, mean))
        widened.append(_widened(found, mean))
        batched.append(_covers(batched_interval(row, names.tolist(), LEVEL, value_range=(0.0, 1.0)), mean))
        # Each of these takes half a second.
        if i < max(4, round(60 * scale)):
            blocks.append(_covers(interval_for("full-history-block", row, LEVEL, seed=i), mean))
    return share(plain), share(blocks), share(widened), share(batched, least=0.94)


def _promoted(right: float, n_confirmed: int, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, round(100 * right), n_confirmed])
    confirmed, chosen_by = [], []
    for _ in range(repeats(1000, scale)):
        n_right = rng.binomial(200, right, (5, 16)).max(axis=1)
        for counts, n, found in (
            (rng.binomial(n_confirmed, right, 5), n_confirmed, confirmed),
            (n_right, 200, chosen_by),
        ):
            row = (np.arange(5 * n) < counts.sum()).astype(np.float64)
            found.append(_covers(interval_for("auto", row, LEVEL, value_range=(0.0, 1.0), binary=True), right))
    return share(confirmed, least=0.94), share(chosen_by)


def _widened(found: HistoryInterval, mean: float) -> bool:
    if found.lower is None or found.median is None or found.upper is None:
        return False
    factor = found.autocorrelation_width_factor or 1.0
    lower, upper = found.median - factor * (found.median - found.lower), found.upper - found.median
    return lower <= mean <= found.median + factor * upper
