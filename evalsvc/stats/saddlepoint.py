"""Quantiles of the resampled mean by a saddlepoint approximation."""

from __future__ import annotations

import math

import numpy as np

from evalsvc.stats.checks import FloatArray

# Nearer to the centre than this, log(u/r)/r loses its digits, and three terms of an expansion are better.
CENTRAL = 0.15
STEPS = 40


def saddlepoint_quantiles(unit: FloatArray, z: float) -> tuple[float, float, float] | None:
    r"""Return the (lower, median, upper) quantiles of the resampled mean at -z, 0 and z normal deviates.

    With K(t) = log mean exp(t·y) over the standardised scores y, each end solves

    .. math::
        r + \frac{1}{r}\log\frac{u}{r} = \pm z,\quad
        r = \operatorname{sgn}(t)\sqrt{2n\,(tK'(t) - K(t))},\quad u = t\sqrt{nK''(t)}

    and is mean + s·K'(t); the median is mean - s·skew/(6n).

    Parameters
    ----------
    unit : ndarray
        Scores on [0, 1], with some spread. The approximation holds when many of them share the variance; the caller
        checks that (see `effective_size`).
    z : float
        Positive normal deviate of the wanted ends.

    Returns
    -------
    tuple of float, or None
        None when the equation has no solution that doubles can reach, at levels very close to 1.

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
    mean = float(unit.mean())
    centred = unit - mean
    spread = math.sqrt(float(centred @ centred) / unit.size)
    y = centred / spread
    powers = np.stack([np.ones_like(y), y, y * y, y * y * y], axis=1)
    skew = float(powers[:, 3].mean())
    ends = _central_ends(y, z) if z < CENTRAL else _solve(y, powers, np.array([-z, z]), skew)
    if ends is None:
        return None
    lower, upper = (mean + spread * float(end) for end in ends)
    return lower, mean - spread * skew / (6.0 * unit.size), upper


def effective_size(unit: FloatArray) -> float:
    """Return (Σd²)²/Σd⁴ of the deviations d from the mean: how many scores carry the variance.

    Examples
    --------
    >>> effective_size(np.array([0.0] * 50 + [1.0] * 50))
    100.0
    >>> round(effective_size(np.array([0.0] * 99 + [1.0])), 2)
    1.02
    """
    squares = (unit - unit.mean()) ** 2
    return float(squares.sum()) ** 2 / float(squares @ squares)


def _central_ends(y: FloatArray, z: float) -> FloatArray:
    """Return the Cornish-Fisher quantiles of the mean of y near its centre."""
    n = y.size
    skew, excess = float((y**3).mean()), float((y**4).mean()) - 3.0
    w = np.array([-z, z])
    bent = w + (w**2 - 1.0) * skew / (6.0 * math.sqrt(n))
    bent += (w**3 - 3.0 * w) * excess / (24.0 * n) - (2.0 * w**3 - 5.0 * w) * skew**2 / (36.0 * n)
    centred: FloatArray = bent / math.sqrt(n)
    return centred


def _solve(y: FloatArray, powers: FloatArray, wanted: FloatArray, skew: float) -> FloatArray | None:
    """Return K'(t) at the two solutions t, by Newton's method from a second-order guess."""
    n = y.size
    guess = wanted / math.sqrt(n)
    t = guess * (1.0 - np.clip(skew * guess / 2.0, -0.5, 0.5))
    for _ in range(STEPS):
        with np.errstate(all="ignore"):
            value, slope = _deviate(t, y, powers)
            step = (wanted - value) / slope
        if not np.isfinite(step).all():
            return None
        # The sign of t is known; a step across zero would leave the branch.
        t = np.where((t + step) * wanted > 0.0, t + step, t / 2.0)
        if float(np.abs(step).max()) * math.sqrt(n) < 1e-6:
            # One Newton step after the last evaluation: its error is the square of the step's.
            return _tilted_mean(t, y, powers)
    return None


def _tilted_mean(t: FloatArray, y: FloatArray, powers: FloatArray) -> FloatArray:
    moments = np.exp(np.multiply.outer(t, y)) @ powers[:, :2]
    mean: FloatArray = moments[:, 1] / moments[:, 0]
    return mean


def _deviate(t: FloatArray, y: FloatArray, powers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the normal deviate that t stands for, and its slope in t."""
    n = y.size
    m0, m1, m2, m3 = (np.exp(np.multiply.outer(t, y)) @ powers).T / n
    k1 = m1 / m0
    k2 = m2 / m0 - k1 * k1
    k3 = m3 / m0 - 3.0 * k1 * m2 / m0 + 2.0 * k1**3
    r = np.copysign(np.sqrt(2.0 * n * (t * k1 - np.log(m0))), t)
    log_ratio = np.log(t * np.sqrt(n * k2) / r)
    r_slope = n * t * k2 / r
    slope = r_slope + (1.0 / t + k3 / (2.0 * k2) - r_slope / r) / r - log_ratio * r_slope / (r * r)
    return r + log_ratio / r, slope
