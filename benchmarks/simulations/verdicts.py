"""The verdict on two configs: its power at the planned end, and how often it is wrong among equal configs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, xlogy  # type: ignore[import-untyped, unused-ignore]

from benchmarks.simulations.populations import Row
from benchmarks.simulations.report import Exact, Figure, Table, repeats, share
from evalsvc.stats.pairs.common import Common
from evalsvc.stats.pairs.comparison import sign_test
from evalsvc.stats.pairs.newpairs import BETTER, INCONCLUSIVE, STAKES, WORSE, NewEvidence, evidence_of_counts
from evalsvc.stats.pairs.paired import Differences
from evalsvc.stats.pairs.simultaneous import n_comparisons
from evalsvc.stats.pairs.verdict import MONITORING, PLANNED_END, Analysis, decide_verdict

LEVEL, SHARDS = 0.95, 8
CONFIGS, EXAMPLES = 16, 400
N_METRICS, METRIC_CONFIGS, METRIC_EXAMPLES = 20, 4, 200
Rng = np.random.Generator
Marks = NDArray[np.bool_]


def tables(scale: float, seed: int) -> Iterator[Table]:
    """Yield the power of the verdict, and wrong verdicts among equal configs and over many metrics."""
    yield Table(
        "Power of the verdict at the planned end, scores of 0 and 1, 30 % of the answers differ.",
        "95 % or more of the power of McNemar's exact test, which is made once, at the whole error, and by Bonferroni for as"
        " many comparisons. Summed over the counts of pairs for and against, not simulated.",
        ("examples", "difference", "comparisons", "exact test", "verdict", "share of the power", "wrong verdict"),
        tuple(
            ((str(n), f"{round(100 * (plus - minus))} points", str(m)), _power(n, plus, minus, m))
            for n, plus, minus in POWERS
            for m in (1, n_comparisons(METRIC_CONFIGS), n_comparisons(CONFIGS))
        ),
    )
    yield Table(
        "Sixteen equal configs with 400 examples, analysed at 8 shard ends, the last of which is the planned end.",
        "At most 5 % of runs have a wrong verdict on any pair at any of them.",
        ("scores", "compared with", "wrong before the end", "wrong at the end", "wrong at any time"),
        tuple(line for name in SCORES for line in _equal_configs(name, scale, seed)),
    )
    yield Table(
        "Four equal configs, 20 metrics, 200 examples, analysed at 8 shard ends.",
        "At most 5 % of runs have a wrong verdict on any metric; the primary one has the whole error, the others share half of it.",
        ("scores", "correlation of metrics", "primary", "others", "any"),
        tuple(((name, f"{rho:g}"), _equal_metrics(name, rho, scale, seed)) for name in SCORES for rho in CORRELATIONS),
    )


# --- Power, exactly --------------------------------------------------------------------------------------------------

POWERS = ((200, 0.2, 0.1), (400, 0.2, 0.1), (200, 0.225, 0.075))
# Less probable counts add up to nothing that is printed.
LEAST_WEIGHT = 1e-9


def _power(n: int, plus: float, minus: float, m: int) -> tuple[Figure, ...]:
    counts, orders = _counts(n)
    weights = np.exp(orders + xlogy(counts, np.array([plus, minus, 1.0 - plus - minus])).sum(axis=1))
    counts, weights = counts[weights > LEAST_WEIGHT], weights[weights > LEAST_WEIGHT]
    words = np.array([_word(n, up, down, m) for up, down, _ in counts.tolist()])
    alpha = (1.0 - LEVEL) / m
    rejected = np.array([up > down and _p_value(up, down) <= alpha for up, down, _ in counts.tolist()])
    test, verdict = float(weights[rejected].sum()), float(weights[words == BETTER].sum())
    wrong = float(weights[words == WORSE].sum())
    return Exact(test), Exact(verdict), Exact(verdict / test, least=0.95), Exact(wrong)


@cache
def _counts(n: int) -> tuple[NDArray[np.int64], Row]:
    """Return all counts of pairs for, against and neither, and the log of how many orders each has."""
    counts = np.array([(plus, minus, n - plus - minus) for plus in range(n + 1) for minus in range(n + 1 - plus)])
    return counts, gammaln(n + 1) - gammaln(counts + 1).sum(axis=1)


@cache
def _p_value(plus: int, minus: int) -> float:
    return sign_test(Differences(plus + minus, float(plus - minus), float(plus + minus), plus, minus), binary=True)


@cache
def _word(n: int, plus: int, minus: int, m: int) -> str:
    """Return the verdict on scores of 0 and 1 at the planned end."""
    common = Common(1, 2, n, n, float(plus - minus), float(plus + minus), plus, minus)
    evidence = evidence_of_counts(n, plus, minus)
    return decide_verdict(common, Analysis(PLANNED_END, LEVEL, m), binary=True, reach=1.0, evidence=evidence).word


# --- Equal configs ---------------------------------------------------------------------------------------------------

# From how well a config does on an example, standard normal for all of them together, to its score.
SCORES: dict[str, Callable[[Row], Row]] = {
    "0 and 1": lambda ability: (ability > -0.8).astype(np.float64),
    "graded, 0 to 1": lambda ability: np.asarray(np.round(4.0 * ndtr(ability)) / 4.0, dtype=np.float64),
}
BINARY = "0 and 1"
# How much of an ability is the difficulty of the example, which is the same for all configs.
SHARED = 0.6
CORRELATIONS = (0.0, 0.5)


def _equal_configs(name: str, scale: float, seed: int) -> Iterator[tuple[tuple[str, str], tuple[Figure, ...]]]:
    """Yield a line for all pairs, and for pairs with a declared baseline."""
    rng = np.random.default_rng([seed, *name.encode()])
    against = {"all others": False, "a baseline": True}
    first, second = np.triu_indices(CONFIGS, 1)
    wrong: dict[str, list[Marks]] = {words: [] for words in against}
    for _ in range(repeats(1000, scale)):
        own = rng.normal(size=(CONFIGS, EXAMPLES))
        scores = SCORES[name](np.sqrt(SHARED) * rng.normal(size=EXAMPLES) + np.sqrt(1.0 - SHARED) * own)
        for words, has_baseline in against.items():
            shown = first == 0 if has_baseline else np.ones(first.shape, dtype=bool)
            differences = scores[first[shown]] - scores[second[shown]]
            m = n_comparisons(CONFIGS, has_baseline=has_baseline)
            wrong[words].append(_decided(differences, m, binary=name == BINARY).any(axis=0))
    for words, runs in wrong.items():
        ends = np.array(runs)
        yield (
            (name, words),
            (
                share(ends[:, :-1].any(axis=1), most=0.05),
                share(ends[:, -1], most=0.05),
                share(ends.any(axis=1), most=0.05),
            ),
        )


def _equal_metrics(name: str, rho: float, scale: float, seed: int) -> tuple[Figure, ...]:
    rng = np.random.default_rng([seed, round(100 * rho), *name.encode()])
    first, second = np.triu_indices(METRIC_CONFIGS, 1)
    m = n_comparisons(METRIC_CONFIGS)
    primary, others = [], []
    for _ in range(repeats(1000, scale)):
        size = (N_METRICS, METRIC_CONFIGS, METRIC_EXAMPLES)
        # Metrics of one answer go together: in what the example is worth, and in what the config makes of it.
        hard = np.sqrt(rho) * rng.normal(size=METRIC_EXAMPLES) + np.sqrt(1 - rho) * rng.normal(
            size=(N_METRICS, 1, METRIC_EXAMPLES)
        )
        own = np.sqrt(rho) * rng.normal(size=size[1:]) + np.sqrt(1 - rho) * rng.normal(size=size)
        scores = SCORES[name](np.sqrt(SHARED) * hard + np.sqrt(1.0 - SHARED) * own)
        differences = scores[:, first] - scores[:, second]
        primary.append(bool(_decided(differences[0], m, binary=name == BINARY).any()))
        rows = differences[1:].reshape(-1, METRIC_EXAMPLES)
        others.append(bool(_decided(rows, m * 2 * (N_METRICS - 1), binary=name == BINARY).any()))
    either = np.array(primary) | np.array(others)
    return share(primary, most=0.05), share(others, most=0.05), share(either, most=0.05)


def _decided(differences: Row, m: int, *, binary: bool) -> Marks:
    """Return on which pairs, a row for each, there is a verdict at each shard end."""
    n_pairs, n = differences.shape
    parts = differences.reshape(n_pairs, SHARDS, n // SHARDS)
    better, worse = _log_fortunes(parts), _log_fortunes(-parts)
    before = Analysis(MONITORING, LEVEL, m)
    fortunes = np.maximum(np.exp(better).mean(axis=2), np.exp(worse).mean(axis=2))
    # Before the end there is a verdict exactly where an e-value has reached the threshold.
    decided: Marks = fortunes >= (before.threshold or np.inf)
    for i, row in enumerate(differences):
        logs = tuple(better[i, -1].tolist()), tuple(worse[i, -1].tolist())
        decided[i, -1] = _decide_at_end(row, m, NewEvidence(n, *logs), binary=binary) != INCONCLUSIVE
    return decided


def _log_fortunes(parts: Row) -> Row:
    """Return the log fortunes of the gamblers at each shard end, by pair, shard and stake."""
    return np.stack([np.log1p(stake * parts).sum(axis=2).cumsum(axis=1) for stake in STAKES], axis=2)


def _decide_at_end(row: Row, m: int, evidence: NewEvidence, *, binary: bool) -> str:
    n, plus, minus = row.size, int((row > 0.0).sum()), int((row < 0.0).sum())
    if binary:
        return _word(n, plus, minus, m)
    common = Common(1, 2, n, n, float(row.sum()), float(row @ row), plus, minus)
    return decide_verdict(common, Analysis(PLANNED_END, LEVEL, m), binary=False, reach=1.0, evidence=evidence).word
