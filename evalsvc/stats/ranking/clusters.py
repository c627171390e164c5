"""Rankings where examples come in clusters: whole clusters are what is drawn, so they are what is resampled.

`rank` takes the cluster of each judgement in place of its example: the judgements of a cluster count together, the two
imagined ones are clusters of the usual size, and ends are moved out as by so many clusters. Shares are weighed alike.
"""

from __future__ import annotations

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.ranking.bands import compute_band
from evalsvc.stats.ranking.matches import IntArray, Matches
from evalsvc.stats.ranking.rates import Rate
from evalsvc.stats.ranking.resamples import DRAWS, small_sample_factor


def weight_by_cluster(matches: Matches, clusters: IntArray) -> Matches:
    """Return the judgements with clusters in place of examples; `clusters` has that of each judgement."""
    return Matches(matches.n_configs, clusters, matches.first, matches.second, matches.outcome)


def share_over_clusters(worths: FloatArray, clusters: IntArray, *, n: int, level: float, seed: int) -> Rate:
    """Return the mean of values between 0 and 1, with an interval for new clusters; `n` is the number of examples.

    Uses the Bayesian bootstrap over clusters, with two pseudo-clusters of the usual size: one with all values 1, the
    other with all values 0. The bounds are widened as for n²/Σn_g² clusters, because a few clusters with most of the
    judgements dominate the result.

    Examples
    --------
    >>> rate = share_over_clusters(np.ones(6), np.array([0, 0, 1, 1, 2, 2]), n=6, level=0.95, seed=0)
    >>> rate.value, rate.lower < 0.1, rate.upper
    (1.0, True, 1.0)
    """
    rows = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(rows).astype(np.float64)
    totals = np.bincount(rows, weights=worths)
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=(DRAWS, len(sizes)))
    imagined = sizes.mean() * rng.exponential(size=(2, DRAWS))
    resamples = (weights @ totals + imagined[0]) / (weights @ sizes + imagined.sum(axis=0))
    effective = int(sizes.sum() ** 2 / (sizes**2).sum() + 1e-9)
    low, high = compute_band(resamples[:, None], level).ends(small_sample_factor(effective, level))
    value = float(worths.mean())
    return Rate(value, max(0.0, min(float(low[0]), value)), min(1.0, max(float(high[0]), value)), n)


def win_rates_over_clusters(
    matches: Matches, clusters: IntArray, *, level: float, seed: int
) -> dict[tuple[int, int], Rate]:
    """Return the win rate (wins, and half of the ties) of each judged pair's first config, for new clusters."""
    worths = 1.0 - matches.outcome / 2.0
    rates = {}
    for row, (first, second) in enumerate(matches.pairs.tolist()):
        is_pair = matches.pair_of == row
        n = int(is_pair.sum())
        rates[first, second] = share_over_clusters(worths[is_pair], clusters[is_pair], n=n, level=level, seed=seed)
    return rates


def overall_rates_over_clusters(matches: Matches, clusters: IntArray, *, level: float, seed: int) -> list[Rate | None]:
    """Return each config's win rate against all others, for new clusters: the mean over examples of their means."""
    worth = 1.0 - matches.outcome / 2.0
    rates: list[Rate | None] = []
    for config in range(matches.n_configs):
        first, second = matches.first == config, matches.second == config
        values = np.concatenate((worth[first], 1.0 - worth[second]))
        examples = np.concatenate((matches.example[first], matches.example[second]))
        of = np.concatenate((clusters[first], clusters[second]))
        _, start, rows = np.unique(examples, return_index=True, return_inverse=True)
        if not len(values):
            rates.append(None)
            continue
        means = np.bincount(rows.reshape(-1), weights=values) / np.bincount(rows.reshape(-1))
        rates.append(share_over_clusters(means, of[start], n=len(means), level=level, seed=seed))
    return rates
