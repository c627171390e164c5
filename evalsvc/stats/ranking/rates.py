"""Shares over examples: how often one config wins against another, and how often the two orders of a pair disagree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.formulas.extremes import guarded_t
from evalsvc.stats.ranking.bands import compute_band
from evalsvc.stats.ranking.matches import IntArray, Matches
from evalsvc.stats.ranking.resamples import DRAWS


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate with its interval for new examples, computed from `n` examples."""

    value: float
    lower: float
    upper: float
    n: int


def compute_rate(worths: FloatArray, level: float) -> Rate:
    """Return the mean of shares between 0 and 1, one for each example, with an interval that knows a few are few.

    Examples
    --------
    >>> found = compute_rate(np.array([1.0, 1.0, 1.0]), 0.95)
    >>> found.value, round(found.lower, 2), found.upper
    (1.0, 0.0, 1.0)
    """
    if len(worths) < 2:
        return Rate(float(worths[0]), 0.0, 1.0, 1)
    lower, upper = guarded_t(compute_sums(worths), (0.0, 1.0), level)
    return Rate(float(worths.mean()), lower, upper, len(worths))


def win_rates(matches: Matches, level: float) -> dict[tuple[int, int], Rate]:
    """Return the win rate (wins, and half of the ties) of each judged pair's first config against its second."""
    order = np.argsort(matches.pair_of, kind="stable")
    worths = (1.0 - matches.outcome / 2.0)[order]
    ends = np.cumsum(np.bincount(matches.pair_of, minlength=len(matches.pairs)))
    parts = np.split(worths, ends[:-1])
    # Of no pair at all there is one part, an empty one.
    return {(int(i), int(j)): compute_rate(part, level) for (i, j), part in zip(matches.pairs, parts, strict=False)}


def overall_rates(matches: Matches, level: float) -> list[Rate | None]:
    """Return each config's win rate against all others: of each example the mean over its judgements there."""
    worth = 1.0 - matches.outcome / 2.0
    rates: list[Rate | None] = []
    for config in range(matches.n_configs):
        is_first, is_second = matches.first == config, matches.second == config
        examples = np.concatenate((matches.example[is_first], matches.example[is_second]))
        values = np.concatenate((worth[is_first], 1.0 - worth[is_second]))
        rates.append(compute_rate(_means(examples, values), level) if len(values) else None)
    return rates


def _means(examples: IntArray, values: FloatArray) -> FloatArray:
    rows = np.unique(examples, return_inverse=True)[1].reshape(-1)
    means: FloatArray = np.bincount(rows, weights=values) / np.bincount(rows)
    return means


def share_over_examples(hits: FloatArray, totals: FloatArray, *, level: float, seed: int) -> Rate | None:
    """Return the share of hits among all that was counted, by example; None where nothing was counted.

    The Bayesian bootstrap over examples, with two imagined ones of the usual size: of one all are hits, of the other
    none.
    """
    is_counted = totals > 0
    hits, totals = hits[is_counted], totals[is_counted]
    if not len(totals):
        return None
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=(DRAWS, len(totals)))
    imagined = totals.mean() * rng.exponential(size=(2, DRAWS))
    resamples = (weights @ hits + imagined[0]) / (weights @ totals + imagined.sum(axis=0))
    low, high = compute_band(resamples[:, None], level).ends(1.0)
    value = float(hits.sum() / totals.sum())
    return Rate(value, min(float(low[0]), value), max(float(high[0]), value), len(totals))
