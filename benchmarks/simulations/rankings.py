"""Rankings: how often the intervals of strengths hold, equal configs, and what choosing the next pairs saves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np

from benchmarks.simulations.report import Figure, Ratio, Share, Table, repeats
from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.ranking.clusters import weight_by_cluster
from evalsvc.stats.ranking.davidson import fit
from evalsvc.stats.ranking.matches import IntArray, Matches
from evalsvc.stats.ranking.ranks import Ranking, rank
from evalsvc.stats.ranking.selection import (
    FIRST_ROUND,
    is_first_settled,
    look_level,
    most_looks,
    next_pairs,
    round_size,
)

CONFIGS, EXAMPLES, TIES, TRUTH_EXAMPLES = 8, 200, 0.2, 100_000
SPREADS = {"equal": 0.0, "close": 0.5, "apart": 1.5}
DESIGNS = ("all", "baseline", "active")
# Clusters and the examples in each; of the last, a third of the clusters hold two thirds of the examples.
CLUSTERS = {"40 of 5": (5,) * 40, "12 of 16": (16,) * 12, "20 of 20, 40 of 5": (20,) * 20 + (5,) * 40}
SETTLED_SPREAD = 1.5
Rng = np.random.Generator


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield coverage of strengths and of all differences together, few examples, equal configs, and what is saved."""
    yield Table(
        "Strengths of 8 configs, 200 examples, 20 % ties.",
        "Each strength's interval covers in 93 % or more; all differences together are held to 92 %. The truth is the"
        " estimate from 100000 examples. Pairs of `active` are chosen by what was seen, half as many as `all` has.",
        ("design", "configs", "a strength", "all differences together"),
        tuple(
            (
                (d, s),
                _coverage(d, s, EXAMPLES, max(6, round(60 * scale)) if d == "active" else repeats(400, scale), seed),
            )
            for d in DESIGNS
            for s in SPREADS
            if (d, s) != ("active", "equal")
        ),
    )
    yield Table(
        "The same with few examples.",
        "Each strength's interval covers in 93 % or more. With ten examples and one opponent each, large"
        " differences are understated.",
        ("design", "configs", "examples", "a strength"),
        tuple(
            ((d, s, str(n)), _coverage(d, s, n, repeats(100, scale), seed, together=False))
            for d in DESIGNS[:2]
            for s in ("close",)
            for n in (10, 30)
        ),
    )
    yield Table(
        "Sixteen equal configs, all pairs.",
        "In at most 5 % of rankings one is said to be first, or any to be better than another.",
        ("examples", "one is first", "any is better"),
        tuple(((str(n),), _equal(n, repeats(100, scale), seed)) for n in (3, 100)),
    )
    yield Table(
        "Strengths of 8 configs that are apart, all pairs, where examples come in clusters.",
        "Clusters differ in which configs are good at them, as much as examples do. Each strength's interval covers in"
        " 93 % or more where whole clusters are resampled. Nothing is promised where examples are taken one by one.",
        ("clusters", "over clusters", "one by one"),
        tuple(((clusters,), _clustered(clusters, max(8, round(200 * scale)), seed)) for clusters in CLUSTERS),
    )
    yield Table(
        "Judgements that `active` needs to show which of 8 configs is first as often as `all` does, 200 examples.",
        "As a share of all pairs of all examples; 0.70 at most. Both at the level at which all looks of `active` hold"
        " together.",
        ("configs", "judgements over `all`"),
        ((("apart",), (_saved(max(6, round(40 * scale)), seed),)),),
    )


def outcomes(rng: Rng, n: int, quality: FloatArray, pairs: IntArray, tie_width: float) -> IntArray:
    """Return who wins, by example and pair: outputs vary by config and example, and the judge is noisy."""
    output = quality + rng.normal(size=(n, len(quality)))
    gap = output[:, pairs[:, 0]] - output[:, pairs[:, 1]] + 0.5 * rng.normal(size=(n, len(pairs)))
    return _winners(gap, tie_width)


def _winners(gap: FloatArray, tie_width: float) -> IntArray:
    return np.where(gap > tie_width, 0, np.where(gap < -tie_width, 2, 1)).astype(np.int64)


def qualities(spread: float, n: int = CONFIGS) -> FloatArray:
    return np.linspace(spread, -spread, n)


def every_pair(n: int) -> IntArray:
    return np.array(list(itertools.combinations(range(n), 2)), dtype=np.int64)


def pairs_of(design: str) -> IntArray:
    return np.array([(0, i) for i in range(1, CONFIGS)]) if design == "baseline" else every_pair(CONFIGS)


@cache
def tie_width_of(design: str, spread: float) -> float:
    """Return within what the judge sees no difference, so that a fifth of the judgements are ties."""
    pairs, rng = pairs_of(design), np.random.default_rng(1)
    output = qualities(spread) + rng.normal(size=(20_000, CONFIGS))
    gap = output[:, pairs[:, 0]] - output[:, pairs[:, 1]] + 0.5 * rng.normal(size=(20_000, len(pairs)))
    return float(np.quantile(np.abs(gap), TIES))


@cache
def _truth(design: str, spread: float) -> FloatArray:
    pairs = pairs_of(design)
    rng = np.random.default_rng(99)
    return _strengths(
        outcomes(rng, TRUTH_EXAMPLES, qualities(spread), pairs, tie_width_of(design, spread)), pairs, spread
    )


def _strengths(found: IntArray, pairs: IntArray, spread: float) -> FloatArray:
    matches = _matches(found, pairs)
    strengths = fit(CONFIGS, matches.pairs, matches.counts, with_ties=True).strengths[0]
    return np.zeros(CONFIGS) if spread == 0.0 else strengths


def _matches(found: IntArray, pairs: IntArray, n_configs: int = CONFIGS) -> Matches:
    n = len(found)
    first, second = (np.tile(side, n) for side in pairs.T)
    return Matches(n_configs, np.repeat(np.arange(n), len(pairs)), first, second, found.reshape(-1))


def _coverage(design: str, name: str, n: int, runs: int, seed: int, *, together: bool = True) -> tuple[Figure, ...]:
    spread, held, all_held = SPREADS[name], 0, 0
    truth, rng = _truth(design, spread), np.random.default_rng([seed, n])
    gaps = truth[:, None] - truth[None, :]
    for run in range(runs):
        found = outcomes(rng, n, qualities(spread), pairs_of(design), tie_width_of(design, spread))
        if design == "active":
            ranking = Run(found, run).to(len(pairs_of(design)) * n // 2)
        else:
            ranking = rank(_matches(found, pairs_of(design)), seed=run)
        held += _held(ranking, truth)
        all_held += bool(((ranking.lower <= gaps + 1e-9) & (gaps - 1e-9 <= ranking.upper)).all())
    promised = design != "active"
    each = Share(held, runs * CONFIGS, 0.93 if promised else None, together=CONFIGS)
    return (each, Share(all_held, runs, 0.92 if promised else None)) if together else (each,)


def clustered_outcomes(rng: Rng, sizes: tuple[int, ...], quality: FloatArray, tie_width: float) -> IntArray:
    """Return who wins in all pairs, by example: half the variance of an output is that of its cluster."""
    shared = np.repeat(rng.normal(size=(len(sizes), len(quality))), sizes, axis=0)
    output = quality + shared + rng.normal(size=shared.shape)
    pairs = every_pair(len(quality))
    gap = output[:, pairs[:, 0]] - output[:, pairs[:, 1]] + 0.5 * rng.normal(size=(len(output), len(pairs)))
    return _winners(gap, tie_width)


@cache
def _clustered_truth(spread: float) -> FloatArray:
    """The estimate from clusters of one: in the mean over examples, which clusters there are makes no difference."""
    rng, width = np.random.default_rng(98), tie_width_of("all", spread)
    found = clustered_outcomes(rng, (1,) * TRUTH_EXAMPLES, qualities(spread), width)
    return _strengths(found, every_pair(CONFIGS), spread)


def _clustered(clusters: str, runs: int, seed: int) -> tuple[Figure, ...]:
    sizes, spread = CLUSTERS[clusters], SPREADS["apart"]
    truth, pairs, rng = _clustered_truth(spread), every_pair(CONFIGS), np.random.default_rng([seed, *sizes[:2]])
    of = np.repeat(np.repeat(np.arange(len(sizes)), sizes), len(pairs))
    over = alone = 0
    for run in range(runs):
        matches = _matches(clustered_outcomes(rng, sizes, qualities(spread), tie_width_of("all", spread)), pairs)
        over += _held(rank(weight_by_cluster(matches, of), seed=run), truth)
        alone += _held(rank(matches, seed=run), truth)
    n = runs * CONFIGS
    return Share(over, n, 0.93, together=CONFIGS), Share(alone, n, together=CONFIGS)


def _held(ranking: Ranking, truth: FloatArray) -> int:
    """Count the strengths whose interval has the true one in it."""
    return sum(
        (place.lower is None or place.lower <= true) and (place.upper is None or true <= place.upper)
        for place, true in zip(ranking.placed, truth, strict=True)
    )


def _equal(n: int, runs: int, seed: int) -> tuple[Figure, ...]:
    rng, pairs = np.random.default_rng([seed, n]), every_pair(16)
    firsts = better = 0
    for run in range(runs):
        found = outcomes(rng, n, np.zeros(16), pairs, tie_width_of("all", 0.0))
        ranking = rank(_matches(found, pairs, 16), seed=run)
        firsts += is_first_settled(ranking)
        better += bool(ranking.is_better.any())
    return Share(firsts, runs, most=0.05), Share(better, runs, most=0.05)


class Run:
    """One comparison while it is judged: outcomes are laid up, and pairs take them as they are given out."""

    def __init__(self, found: IntArray, seed: int) -> None:
        self.found, self.seed = found, seed
        self.n, self.pairs = len(found), every_pair(CONFIGS)
        self.rows = {(int(a), int(b)): p for p, (a, b) in enumerate(self.pairs)}
        self.used = np.zeros(len(self.pairs), dtype=np.int64)
        self.order = np.random.default_rng(seed).permutation(self.n)
        self.level = look_level(0.95, most_looks(len(self.pairs), self.n))

    def take(self, pair: int, n: int) -> None:
        self.used[pair] = min(self.n, self.used[pair] + n)

    def ranking(self, level: float) -> Ranking:
        rows = [
            (
                int(example := self.order[(k + p * self.n // len(self.pairs)) % self.n]),
                a,
                b,
                int(self.found[example, p]),
            )
            for (a, b), p in self.rows.items()
            for k in range(self.used[p])
        ]
        return rank(Matches.from_rows(CONFIGS, rows), level=level, seed=self.seed, draws=2000 if level > 0.95 else 1000)

    def grow(self, ranking: Ranking | None, most: int | None = None) -> None:
        size = round_size(len(self.pairs), int(self.used.sum()))
        size = size if most is None else min(size, most - int(self.used.sum()))
        if ranking is None:
            for pair in range(len(self.pairs)):
                self.take(pair, -(-size // len(self.pairs)))
            return
        left = {pair: self.n - int(self.used[p]) for pair, p in self.rows.items()}
        for pair, n in next_pairs(ranking, left, size, seed=self.seed).items():
            self.take(self.rows[pair], n)

    def to(self, budget: int) -> Ranking:
        """Return the ranking after so many judgements of chosen pairs."""
        self.grow(None)
        while self.used.sum() < budget:
            self.grow(self.ranking(0.95), budget)
        return self.ranking(0.95)

    def until_settled(self) -> tuple[int, bool]:
        """Return after how many judgements one config is first, and whether it ever is."""
        for pair in range(len(self.pairs)):
            self.take(pair, FIRST_ROUND)
        while True:
            ranking, n = self.ranking(self.level), int(self.used.sum())
            if is_first_settled(ranking) or n == len(self.pairs) * self.n:
                return n, is_first_settled(ranking)
            self.grow(ranking)


def _saved(runs: int, seed: int) -> Figure:
    rng, pairs = np.random.default_rng(seed), every_pair(CONFIGS)
    n_settled, needed = 0, []
    for run in range(runs):
        found = outcomes(rng, EXAMPLES, qualities(SETTLED_SPREAD), pairs, tie_width_of("all", SETTLED_SPREAD))
        run_of_pairs = Run(found, run)
        n_settled += is_first_settled(rank(_matches(found, pairs), level=run_of_pairs.level, seed=run, draws=2000))
        n, is_settled = run_of_pairs.until_settled()
        needed.append(n if is_settled else np.inf)
    return Ratio(float(np.sort(needed)[max(0, n_settled - 1)]) / (len(pairs) * EXAMPLES), 0.8)
