r"""Variance within and between examples that are each sampled several times, and the gain from more of either.

An example's score is the mean of K samples. With variance σ² within examples and τ² between what they would score on
average, the mean over n examples has

.. math:: \mathrm{Var}(\bar x) = (\tau^2 + \sigma^2 / K) / n

so that more samples reduce the variance by σ²/K at most, and only more examples reduce τ². σ² is estimated by the mean
of the examples' own
variances, of those with two samples or more; τ² by the variance of the means minus the sampling contribution, which is
the mean of σ²/K_i, with each example's own variance where available. Both are unbiased, also where K_i differs because
samples have failed, and where some examples vary more than others. The estimate of τ² can be below 0 by chance; the
projections then use 0.

References
----------
Miller (2024), Adding error bars to evals, section 3; Searle, Casella & McCulloch (1992), Variance components, section
3.6 for unbalanced data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SampleSums:
    """Sums over examples: how many, the variance of their means (n-1), and of the repeated ones Σs² and Σs²/K."""

    n: int
    variance: float
    n_repeated: int
    within: float
    noise: float


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """The standard error that so many examples with so many samples each are expected to give."""

    n: int
    n_samples: int
    standard_error: float


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """Where the variance of a mean comes from.

    Attributes
    ----------
    within, between : float
        Variance of single samples around their example's score, and of these scores.
    share_within : float or None
        What part of the variance of the mean more samples could take away, from 0 to 1; None where there is none.
    standard_error : float
        Of the mean as it is.
    expected : tuple of ExpectedError
        Of means that take more.
    """

    within: float
    between: float
    share_within: float | None
    standard_error: float
    expected: tuple[ExpectedError, ...]


def split_variance(sums: SampleSums, *, n_samples: int) -> VarianceSplit | None:
    """Split the variance of a mean over repeatedly sampled examples; None where it cannot be split.

    At least two examples are required, and one of them with two scored samples.

    Examples
    --------
    >>> sums = SampleSums(n=100, variance=0.1, n_repeated=100, within=12.0, noise=3.0)
    >>> split = split_variance(sums, n_samples=4)
    >>> round(split.within, 3), round(split.between, 3), round(split.share_within, 3)
    (0.12, 0.07, 0.3)
    >>> [(row.n, row.n_samples, round(row.standard_error, 4)) for row in split.expected]
    [(100, 8, 0.0292), (100, 10, 0.0286), (200, 4, 0.0224)]
    """
    if sums.n < 2 or not sums.n_repeated:
        return None
    within = sums.within / sums.n_repeated
    noise = (sums.noise + (sums.n - sums.n_repeated) * within) / sums.n
    between = sums.variance - noise
    plans = dict.fromkeys([(sums.n, 2 * n_samples), (sums.n, max(10, n_samples)), (2 * sums.n, n_samples)])
    return VarianceSplit(
        within=within,
        between=between,
        share_within=min(1.0, noise / sums.variance) if sums.variance > 0 else None,
        standard_error=math.sqrt(sums.variance / sums.n),
        expected=tuple(
            ExpectedError(n, k, expected_error(within, between, n=n, n_samples=k))
            for n, k in plans
            if (n, k) != (sums.n, n_samples)
        ),
    )


def expected_error(within: float, between: float, *, n: int, n_samples: int) -> float:
    """Return the standard error of the mean of n examples with so many samples each."""
    return math.sqrt((max(between, 0.0) + within / n_samples) / n)
