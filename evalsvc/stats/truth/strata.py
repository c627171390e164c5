r"""The share that people would pass, from labels of a random draw, stratified afterwards by the evaluator's verdict.

Of N scores, N_h have the verdict h, and n_h of these are labelled, with :math:`\hat p_h` of them passed by people. The
estimate is :math:`\hat p=\sum W_h\hat p_h` with :math:`W_h=N_h/N`. The interval combines those of the strata, which
are independent given how many were drawn of each, by the method of variance estimates recovery (MOVER):

.. math:: \hat p - \sqrt{\sum W_h^2(\hat p_h-l_h)^2 + z^2 V_W/N},\qquad V_W=\sum W_h\hat p_h^2-\hat p^2

and mirrored for the upper end. A stratum has the interval of Clopper and Pearson with fewer than 5 successes or
failures, else Wilson's. :math:`V_W/N` is the variance of the estimated weights, :math:`(p_1-p_0)^2W(1-W)/N` for two
strata: the N scores are a sample of the scores to come. For the N scores themselves it is left out, and the strata are
finite.

References
----------
Cochran (1977), Sampling Techniques, 5A.9 (stratification after the draw); Zou & Donner (2008), Construction of
confidence limits about effect measures, Statistics in Medicine 27 (MOVER); Wilson (1927); Clopper & Pearson (1934);
Buonaccorsi (1987), The American Statistician 41 (finite strata).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evalsvc.stats.formulas.finite import Ends, exact_interval, wilson_finite
from evalsvc.stats.formulas.intervals import clopper_pearson, wilson, z_quantile

# With fewer of either kind Wilson's interval misses too often.
FEW = 5.0


@dataclass(frozen=True, slots=True)
class Stratum:
    """The scores with one verdict.

    Attributes
    ----------
    verdict : str
        ``pass``, ``fail`` or ``undecided``: the evaluator's.
    population : int
        How many of the N scores have it.
    n, successes : int
        How many of those are labelled, and how many of these people pass.
    """

    verdict: str
    population: int
    n: int
    successes: int


def share_interval(successes: float, n: float, level: float) -> Ends:
    """Return the interval of a share for new data: Clopper and Pearson's where either kind is rare, else Wilson's.

    Examples
    --------
    >>> [round(end, 3) for end in share_interval(2, 50, 0.95)], [round(end, 3) for end in share_interval(25, 50, 0.95)]
    ([0.005, 0.137], [0.366, 0.634])
    """
    is_rare = min(successes, n - successes) < FEW
    return clopper_pearson(successes, n, level) if is_rare else wilson(successes, n, level)


def estimate_share(strata: Sequence[Stratum]) -> float:
    """Return the estimated share that people pass; a stratum without labels counts with the share of all labels.

    Examples
    --------
    >>> round(estimate_share([Stratum("pass", 800, 80, 72), Stratum("fail", 200, 20, 2)]), 2)
    0.74
    """
    total = sum(
        stratum.population * share for stratum, (_, share) in zip(strata, _weights_and_shares(strata), strict=True)
    )
    return total / sum(stratum.population for stratum in strata)


def stratified_interval(strata: Sequence[Stratum], level: float, *, scale: float = 1.0) -> Ends:
    """Return the interval of the share that people pass, for new data.

    Parameters
    ----------
    strata : sequence of Stratum
        All N scores, with at least one label in all. A stratum without labels may have any share.
    level : float
        Confidence level.
    scale : float
        As if each stratum had so many times its labels, with the same shares of successes.

    Examples
    --------
    >>> low, high = stratified_interval([Stratum("pass", 800, 80, 72), Stratum("fail", 200, 20, 2)], 0.95)
    >>> round(low, 3), round(high, 3)
    (0.667, 0.801)
    """
    intervals = [
        share_interval(scale * stratum.successes, scale * stratum.n, level) if stratum.n else (0.0, 1.0)
        for stratum in strata
    ]
    return _combine(strata, intervals, z_quantile(level) ** 2 * _weight_variance(strata))


def finite_interval(strata: Sequence[Stratum], level: float) -> Ends:
    """Return the interval of the share that people would pass of these N scores; of zero width if all are labelled.

    Examples
    --------
    >>> finite_interval([Stratum("pass", 3, 3, 2), Stratum("fail", 1, 1, 0)], 0.95)
    (0.5, 0.5)
    """
    return _combine(strata, [_finite_stratum(stratum, level) for stratum in strata], 0.0)


def labels_for_width(strata: Sequence[Stratum], width: float, level: float) -> int | None:
    """Return how many labels in all are expected to give an interval of this width; None if all N would not.

    Assumed is that each stratum keeps its share of successes and is drawn in proportion.

    Examples
    --------
    >>> strata = [Stratum("pass", 8000, 80, 72), Stratum("fail", 2000, 20, 2)]
    >>> labels_for_width(strata, 0.07, 0.95)
    308
    """
    n, most = sum(stratum.n for stratum in strata), sum(stratum.population for stratum in strata)

    def is_reached(n_labels: int) -> bool:
        low, high = stratified_interval(strata, level, scale=n_labels / n)
        return high - low <= width

    return fewest(is_reached, most)


def fewest(is_reached: Callable[[int], bool], most: int) -> int | None:
    """Return the fewest of 1 to `most` for which a condition holds that once it holds goes on to; None if none."""
    if not is_reached(most):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return high


def _weights_and_shares(strata: Sequence[Stratum]) -> list[tuple[float, float]]:
    n, population = sum(stratum.n for stratum in strata), sum(stratum.population for stratum in strata)
    pooled = sum(stratum.successes for stratum in strata) / n
    return [
        (stratum.population / population, stratum.successes / stratum.n if stratum.n else pooled) for stratum in strata
    ]


def _weight_variance(strata: Sequence[Stratum]) -> float:
    pairs = _weights_and_shares(strata)
    mean = sum(weight * share for weight, share in pairs)
    variance = sum(weight * (share - mean) ** 2 for weight, share in pairs)
    return variance / sum(stratum.population for stratum in strata)


def _combine(strata: Sequence[Stratum], intervals: Sequence[Ends], extra: float) -> Ends:
    """Return the ends from those of the strata; `extra` is added to both squared margins."""
    below, above, mean = extra, extra, estimate_share(strata)
    for (weight, share), (low, high) in zip(_weights_and_shares(strata), intervals, strict=True):
        below += (weight * (share - low)) ** 2
        above += (weight * (high - share)) ** 2
    return max(0.0, mean - math.sqrt(below)), min(1.0, mean + math.sqrt(above))


def _finite_stratum(stratum: Stratum, level: float) -> Ends:
    n, successes = stratum.n, stratum.successes
    if not n:
        return (0.0, 1.0)
    if n == stratum.population:
        return successes / n, successes / n
    if min(successes, n - successes) < FEW:
        return exact_interval(successes, n, stratum.population, level)
    return wilson_finite(successes, n, stratum.population, level)
