"""Intervals for this set while it runs: at the first shard, and at all looks together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.simulations.populations import BOUNDED, Row, drawn
from benchmarks.simulations.report import Figure, Ratio, Table, repeats, share
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.formulas.anytime import anytime_share, running_share
from evalsvc.stats.formulas.betting import betting_interval
from evalsvc.stats.formulas.finite import t_margin

LEVEL, SHARDS = 0.95, 8
Ends = tuple[float, float]


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield the scores in a range, then what keeping the intersection is worth for shares."""
    yield Table(
        "Scores that are not 0 or 1, this set, 8 shards.",
        "`anytime` promises to miss in at most 5 % of runs; t at a seventh of the error does not keep that.",
        (
            "scores",
            "N",
            "`t` covers after the first shard",
            "`t`, a seventh of the error, misses at some shard",
            "`anytime` misses at some shard",
            "width of `anytime` over `t`",
        ),
        tuple(((name, str(n)), _continuous(name, n, scale, seed)) for name in BOUNDED for n in (100, 400)),
    )
    yield Table(
        "Scores of 0 and 1, this set of 400.",
        "What has been ruled out stays out: the same promise, narrower.",
        ("share", "misses at some shard", "width over that without the intersection"),
        tuple(((f"{p:g}",), _share(p, scale, seed)) for p in (0.5, 0.9, 0.99)),
    )


def _continuous(name: str, population: int, scale: float, seed: int) -> tuple[Figure, ...]:
    rows, _ = drawn(name, repeats(1000, scale), population, seed)
    looks = [round(population * i / SHARDS) for i in range(1, SHARDS)]
    split = 1.0 - (1.0 - LEVEL) / len(looks)
    first = share(_holds(_student(row[: looks[0]], population, LEVEL), row) for row in rows)
    at_some = share(not all(_holds(_student(row[:n], population, split), row) for n in looks) for row in rows)
    few = rows[: repeats(300, scale)]
    # What is ruled out stays out, so a shard's end tells of misses since the one before.
    bets = share((not all(_holds(_bet(row[:n], population), row) for n in looks) for row in few), most=0.05)
    widths = [_widths(row, population, looks) for row in few[: repeats(60, scale)]]
    return first, at_some, bets, Ratio(_ratio(widths), tolerance=0.6)


def _student(row: Row, population: int, level: float) -> Ends:
    sums = compute_sums(row)
    margin = t_margin(sums.variance, sums.n, population, level)
    return sums.mean - margin, sums.mean + margin


def _bet(row: Row, population: int) -> Ends:
    return betting_interval(row, population, LEVEL, (0.0, 1.0), running=True)


def _holds(ends: Ends, row: Row) -> bool:
    return ends[0] - 1e-9 <= float(row.mean()) <= ends[1] + 1e-9


def _widths(row: Row, population: int, looks: list[int]) -> tuple[float, float]:
    bets = sum(float(np.diff(_bet(row[:n], population))[0]) for n in looks)
    return bets, sum(float(np.diff(_student(row[:n], population, LEVEL))[0]) for n in looks)


def _ratio(widths: list[tuple[float, float]]) -> float:
    above, below = (sum(column) for column in zip(*widths, strict=True))
    return above / max(below, 1e-12)


def _share(p: float, scale: float, seed: int) -> tuple[Figure, ...]:
    ones = round(400 * p)
    rng = np.random.default_rng([seed, ones])
    rows = [rng.permutation(np.repeat([1.0, 0.0], [ones, 400 - ones])) for _ in range(repeats(1000, scale))]
    looks = [50 * i for i in range(1, SHARDS)]
    missed = share((not all(_holds(running_share(row[:n], 400, LEVEL), row) for n in looks) for row in rows), most=0.05)
    widths = [_kept_and_present(row) for row in rows[: repeats(200, scale)]]
    return missed, Ratio(_ratio(widths), tolerance=0.1)


def _kept_and_present(row: Row) -> tuple[float, float]:
    looks = [50 * i for i in range(1, SHARDS)]
    kept = sum(float(np.diff(running_share(row[:n], 400, LEVEL))[0]) for n in looks)
    return kept, sum(float(np.diff(anytime_share(int(row[:n].sum()), n, 400, LEVEL))[0]) for n in looks)
