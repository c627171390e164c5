r"""Resampling of examples: what else the strengths might have been, had other examples been drawn.

The Bayesian bootstrap: example e counts :math:`w_e \sim \mathrm{Exp}(1)` times with all its judgements, since
judgements of one example go together. As no example ever disappears, no resample falls apart. Two imagined examples
join each resample, of weight Exp(1) as well: in one the first config of each pair wins, in the other the second. With
a single pair that makes its ends those of Clopper and Pearson, with `n` wins of `n` the rule of three; without them a
config that has won three times of three would be certain to be better.

A pair that was judged on few of its configs' examples counts as little in the imagined ones.

References
----------
Rubin (1981), The Bayesian bootstrap, Ann. Statist. 9.
"""

from __future__ import annotations

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.formulas.finite import t_quantile
from evalsvc.stats.formulas.intervals import z_quantile
from evalsvc.stats.ranking.davidson import Fit, fit
from evalsvc.stats.ranking.matches import IntArray, Matches, PairCounts

DRAWS = 1_000


def resample_counts(matches: Matches, draws: int, seed: int) -> PairCounts:
    """Return a row of counts for each draw."""
    rng = np.random.default_rng(seed)
    imagined = imagined_counts(matches, rng.exponential(size=(2, draws, 1)))
    parts = list(matches.weighted(rng.exponential(size=(draws, matches.n_examples))))
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "tie", "second"))
    return PairCounts(*columns).plus(imagined)


def imagined_counts(matches: Matches, weights: FloatArray) -> PairCounts:
    """Return what two imagined examples add: a win for each side of each pair."""
    n_examples = matches.examples_of[matches.pairs].min(axis=1)
    share = matches.counts.total[0] / np.maximum(1, n_examples)
    return PairCounts(weights[0] * share, np.zeros((weights.shape[1], len(share))), weights[1] * share)


def refitted(matches: Matches, counts: PairCounts, start: Fit) -> FloatArray:
    """Return the strengths of each row of counts."""
    return fit(matches.n_configs, matches.pairs, counts, with_ties=matches.has_ties, start=start).strengths


def small_sample_factor(n: IntArray | int, level: float) -> FloatArray:
    """Return by how much ends are moved out: resampling n examples knows their spread no better than n - 1 do.

    Student's t in place of the normal quantile, and the variance divided by n - 1 in place of n + 1.
    """
    sizes = np.maximum(2, np.atleast_1d(np.asarray(n, dtype=np.int64)))
    t = {int(size): t_quantile(int(size) - 1, level) for size in np.unique(sizes)}
    normal = z_quantile(level)
    return np.array([t[int(size)] / normal * ((size + 1) / (size - 1)) ** 0.5 for size in sizes.flat]).reshape(
        sizes.shape
    )
