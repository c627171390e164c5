"""Quantiles of the resampled mean by a saddlepoint approximation."""

from __future__ import annotations

import math

import numpy as np

from evalsvc.stats.basics.checks import FloatArray

# For |z| below this, log(u/r)/r loses its digits, and the Cornish-Fisher expansion is more exact.
CENTRAL = 0.15
# After so many steps of Newton's method the equation counts as without a solution.
STEPS = 40


def saddlepoint_quantiles(unit: FloatArray, z: float) -> tuple[float, float, float] | None:
    r"""Return the (lower, median, upper) quantiles of the resampled mean at -z, 0 and z normal deviates.

    With K(t) = log mean exp(t·y) over the standardised scores y, each bound solves

    .. math::
        r + \frac{1}{r}\log\frac{u}{r} = \pm z,\quad
        r = \operatorname{sgn}(t)\sqrt{2n\,(tK'(t) - K(t))},\quad u = t\sqrt{nK''(t)}

    and is mean + s·K'(t); the median is mean - s·skew/(6n).

    Parameters
    ----------
    unit : ndarray
        Scores on [0, 1], with some spread. The approximation is accurate when many of them carry the variance; the
        caller
        checks that (see `effective_size`).
    z : float
        Positive normal deviate of the requested bounds.

    Returns
    -------
    tuple of float, or None
        None if the equation cannot be solved in double precision, at levels very close to 1.

    References
    ----------
    Lugannani & Rice (1980), Saddle point approximation for the distribution of the sum of independent random variables,
    Adv. Appl. Prob. 12; Davison & Hinkley (1997), Bootstrap Methods and their Application, section 9.5.

    Examples
    --------
    >>> lower, median, upper = saddlepoint_quantiles(np.linspace(0.0, 1.0, 200), 1.959964)
    >>> round(lower, 3), round(median, 3), round(upper, 3)
    (0.46, 0.5, 0.54)
    """
    mean, centred = _centred(unit)
    deviation = math.sqrt(float(centred @ centred) / unit.size)
    powers = _powers(centred / deviation)
    skew = float(powers[3].sum()) / unit.size
    # A trial step may overflow; `_solve` then halves t.
    with np.errstate(over="ignore", invalid="ignore"):
        ends = _central_ends(powers, z) if z < CENTRAL else (_solve(-z, powers, skew), _solve(z, powers, skew))
    if ends[0] is None or ends[1] is None:
        return None
    return mean + deviation * ends[0], mean - deviation * skew / (6.0 * unit.size), mean + deviation * ends[1]


def _centred(unit: FloatArray) -> tuple[float, FloatArray]:
    mean = float(unit.sum()) / unit.size
    return mean, unit - mean


def _powers(y: FloatArray) -> FloatArray:
    """Return the rows 1, y, y² and y³."""
    rows = np.ones((4, y.size))
    rows[1] = y
    np.multiply(y, y, out=rows[2])
    np.multiply(rows[2], y, out=rows[3])
    return rows


def effective_size(unit: FloatArray) -> float:
    """Return (Σd²)²/Σd⁴ of the deviations d from the mean: how many scores carry the variance.

    Examples
    --------
    >>> effective_size(np.array([0.0] * 50 + [1.0] * 50))
    100.0
    >>> round(effective_size(np.array([0.0] * 99 + [1.0])), 2)
    1.02
    """
    squares = _centred(unit)[1] ** 2
    return float(squares.sum()) ** 2 / float(squares @ squares)


def _central_ends(powers: FloatArray, z: float) -> tuple[float, float]:
    """Return the Cornish-Fisher quantiles of the mean of y near its centre."""
    n = powers.size // len(powers)
    skew, excess = float(powers[3].sum()) / n, float(powers[2] @ powers[2]) / n - 3.0

    def quantile(w: float) -> float:
        adjusted = w + (w * w - 1.0) * skew / (6.0 * math.sqrt(n))
        adjusted += w * (w * w - 3.0) * excess / (24.0 * n) - w * (2.0 * w * w - 5.0) * skew * skew / (36.0 * n)
        return adjusted / math.sqrt(n)

    return quantile(-z), quantile(z)


def _solve(wanted: float, powers: FloatArray, skew: float) -> float | None:
    """Return K'(t) at the t with the deviate `wanted`, by Newton's method from a second-order guess."""
    n = powers.size // len(powers)
    guess = wanted / math.sqrt(n)
    t = guess * (1.0 - min(max(skew * (guess / 3.0 + 1.0 / (6.0 * n * guess)), -0.5), 0.5))
    for _ in range(STEPS):
        try:
            value, slope = _deviate(t, powers)
            step = (wanted - value) / slope
        except (ValueError, ZeroDivisionError, OverflowError):
            return None
        # The sign of t is known; a step across zero would leave the branch.
        t = t + step if (t + step) * wanted > 0.0 else t / 2.0
        if abs(step) * math.sqrt(n) < 1e-4:
            # Newton squares the error: what is left after this step is below 1e-8 standard errors.
            return _tilted_mean(t, powers)
    return None


def _tilted_mean(t: float, powers: FloatArray) -> float:
    """Return K'(t), the mean of y with weights exp(t·y)."""
    m0, m1 = (powers[:2] @ np.exp(t * powers[1])).tolist()
    return float(m1) / float(m0)


def _deviate(t: float, powers: FloatArray) -> tuple[float, float]:
    """Return the normal deviate of t, and its slope in t. Raises ValueError if the result overflows."""
    n = powers.size // len(powers)
    m0, m1, m2, m3 = (powers @ np.exp(t * powers[1])).tolist()
    k1, raw2 = m1 / m0, m2 / m0
    k2 = raw2 - k1 * k1
    k3 = m3 / m0 - 3.0 * k1 * raw2 + 2.0 * k1**3
    r = math.copysign(math.sqrt(2.0 * n * (t * k1 - math.log(m0 / n))), t)
    log_ratio = math.log(t * math.sqrt(n * k2) / r)
    r_slope = n * t * k2 / r
    slope = r_slope + (1.0 / t + k3 / (2.0 * k2) - r_slope / r) / r - log_ratio * r_slope / (r * r)
    return r + log_ratio / r, slope
