"""The difference of two means that were measured apart, from the interval of each."""

from __future__ import annotations

import math

from evalsvc.stats.formulas.finite import Ends


def difference_of_intervals(first: tuple[float, Ends], second: tuple[float, Ends]) -> tuple[float, Ends]:
    r"""Return first less second with an interval, from two estimates of independent samples.

    .. math:: L = d - \sqrt{(\hat\theta_1 - l_1)^2 + (u_2 - \hat\theta_2)^2}, \quad
              U = d + \sqrt{(u_1 - \hat\theta_1)^2 + (\hat\theta_2 - l_2)^2}

    Parameters
    ----------
    first, second : tuple of float and Ends
        The estimate, and its interval at the requested level of the difference. Both for the mean of new data.

    Returns
    -------
    tuple of float and Ends
        The difference and its interval at the same level. It preserves the skewness of both: with Wilson's intervals it
        is Newcombe's hybrid score interval. Where the samples share examples a paired interval is narrower.

    References
    ----------
    Newcombe (1998), Interval estimation for the difference between independent proportions, Statistics in Medicine 17;
    Zou & Donner (2008), Construction of confidence limits about effect measures, Statistics in Medicine 27 (MOVER).

    Examples
    --------
    >>> from evalsvc.stats.formulas.intervals import wilson
    >>> value, (low, high) = difference_of_intervals((56 / 70, wilson(56, 70)), (48 / 80, wilson(48, 80)))
    >>> round(value, 4), round(low, 4), round(high, 4)
    (0.2, 0.0524, 0.3339)
    """
    (first_value, (low_one, high_one)), (two, (low_two, high_two)) = first, second
    value = first_value - two
    return value, (
        value - math.hypot(first_value - low_one, high_two - two),
        value + math.hypot(high_one - first_value, two - low_two),
    )
