"""Single-shot intervals with closed formulas.

All of them cover the **mean of new data**: the value that the average approaches as more scores are added, if
the scores are independent draws. None of them predicts the next single score.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist


@lru_cache(maxsize=256)
def normal_quantile(probability: float) -> float:
    """Return the standard normal quantile.

    Examples
    --------
    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return NormalDist().inv_cdf(probability)


def z_quantile(level: float) -> float:
    """Return the half width, in standard errors, of a two-sided normal interval at this level."""
    # The lower tail is used for its precision at levels close to 1; 1 - tail would lose digits.
    return -normal_quantile((1.0 - level) / 2.0)


def wilson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    r"""Invert the score test of a proportion.

    .. math:: \frac{\hat p + z^2/2n \pm z\sqrt{\hat p(1-\hat p)/n + z^2/4n^2}}{1 + z^2/n}

    Parameters
    ----------
    successes, n : float
        Number of ones, and number of scores. Both can be fractional: an effective sample size is one way to account
        for a finite population (`n / f²` with successes scaled alike).
    level : float
        Nominal coverage. It is attained on average over p; near 0 and 1 it is missed for some p.

    Returns
    -------
    tuple of float
        Lower and upper bound, within [0, 1], never of zero width.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA 22.

    Examples
    --------
    >>> low, high = wilson(9, 10)
    >>> round(low, 4), round(high, 4)
    (0.5958, 0.9821)
    """
    _check_counts(successes, n)
    z2 = z_quantile(level) ** 2
    p = successes / n
    scale = 1.0 + z2 / n
    centre = (p + z2 / (2.0 * n)) / scale
    margin = math.sqrt(z2 * (p * (1.0 - p) / n + z2 / (4.0 * n * n))) / scale
    # At p = 0 and p = 1 the end is exact in theory and one rounding error off in doubles.
    lower = 0.0 if successes == 0 else max(0.0, centre - margin)
    upper = 1.0 if successes == n else min(1.0, centre + margin)
    return lower, upper


def clopper_pearson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    r"""Invert the two one-sided binomial tests: coverage is at least the level for every p and n.

    The ends are Beta quantiles, :math:`B^{-1}(\alpha/2; k, n-k+1)` and :math:`B^{-1}(1-\alpha/2; k+1, n-k)`.

    Parameters
    ----------
    successes, n : float
        How many ones, of how many; fractions where n is an effective number.
    level : float
        Guaranteed coverage.

    Returns
    -------
    tuple of float
        Lower and upper end, within [0, 1], never of zero width.

    References
    ----------
    Clopper & Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the binomial,
    Biometrika 26.

    Examples
    --------
    >>> low, high = clopper_pearson(20, 20)
    >>> round(low, 4), high
    (0.8316, 1.0)
    """
    _check_counts(successes, n)
    tail = (1.0 - level) / 2.0
    # With no ones, or nothing else, the Beta quantile is a plain root, and scipy need not be loaded.
    if successes == 0:
        return 0.0, -math.expm1(math.log(tail) / n)
    if successes == n:
        return math.exp(math.log(tail) / n), 1.0
    return _beta_quantiles(successes, n, tail)


def _beta_quantiles(successes: float, n: float, tail: float) -> tuple[float, float]:
    from scipy.special import betaincinv  # type: ignore[import-untyped, unused-ignore]

    lower = betaincinv(successes, n - successes + 1, tail)
    # The upper bound by symmetry: the small tail is more precise.
    upper = 1.0 - betaincinv(n - successes, successes + 1, tail)
    return float(lower), float(upper)


def hoeffding(mean: float, n: int, value_range: tuple[float, float], level: float = 0.95) -> tuple[float, float]:
    r"""Bound the mean of scores with a known range.

    .. math:: \bar x \pm (b-a)\sqrt{\ln(2/(1-level)) / 2n}

    Parameters
    ----------
    mean : float
        Average of the scores seen.
    n : int
        Number of scores.
    value_range : tuple of float
        Lowest and highest score that can occur.
    level : float
        Guaranteed coverage, whatever the distribution on the range; usually far exceeded.

    Returns
    -------
    tuple of float
        Lower and upper bound, cut to the range.

    References
    ----------
    Hoeffding (1963), Probability inequalities for sums of bounded random variables, JASA 58.

    Examples
    --------
    >>> low, high = hoeffding(3.0, 50, (1.0, 5.0))
    >>> round(low, 4), round(high, 4)
    (2.2317, 3.7683)
    """
    low, high = value_range
    margin = (high - low) * math.sqrt(math.log(2.0 / (1.0 - level)) / (2.0 * n))
    return max(low, mean - margin), min(high, mean + margin)


def _check_counts(successes: float, n: float) -> None:
    if not (n > 0 and 0 <= successes <= n):
        raise ValueError(f"`successes` must lie between 0 and `n`, and `n` above 0, not {successes!r} of {n!r}.")
