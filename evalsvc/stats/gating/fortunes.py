r"""Anytime-valid one-sided bounds by betting: a mixture of nine fixed stakes against each candidate mean.

Scores are rescaled to [0, 1]. Against "the mean is m or less" each stakes a share c of his fortune on every score,

.. math:: E_t(m) = \frac19\sum_c \prod_{i \le t} \Big(1 + c\,\big(\tfrac{x_i}m - 1\big)\Big)

which gains nothing on average where that is true. So it ever exceeds :math:`1/\alpha` with probability at most
:math:`\alpha` (Ville), under any schedule of interim analyses. It falls as m grows, so the ruled-out means are all
those below one bound. Stakes are fixed beforehand, not adapted as in `formulas.betting`: a gate tests
one mean, and against one mean they need a fifth fewer examples, and a third fewer for a power of 80 %.

References
----------
Waudby-Smith & Ramdas (2024), Estimating means of bounded random variables by betting, JRSS B 86.
"""

from __future__ import annotations

import math

import numpy as np

from evalsvc.stats.basics.checks import FloatArray
from evalsvc.stats.formulas.finite import Ends
from evalsvc.stats.pairs.newpairs import STAKES

# The last stake is for proportions near one, as in quantile claims.
GAMBLERS = np.array((*STAKES, 0.95))
HALVINGS = 30
TINY = 1e-12
# Number of scores processed at once.
PORTION = 8192


def anytime_bound(row: FloatArray, reach: Ends, alpha: float) -> float:
    """Return the largest number that the mean is shown to exceed, at all looks together; the lowest one if none is.

    Parameters
    ----------
    row : ndarray
        Scores in the order in which they are looked at.
    reach : pair of float
        Least and largest score that there can be.
    alpha : float
        Probability that the bound ever exceeds the mean.

    Examples
    --------
    >>> round(anytime_bound(np.array([1.0] * 9 + [0.0]).repeat(10), (0.0, 1.0), 0.05), 3)
    0.787
    """
    low, width = reach[0], reach[1] - reach[0]
    if not row.size:
        return low
    unit = np.clip((row - low) / width, 0.0, 1.0)
    mean_seen, running = float(unit.mean()), True
    if is_ruled_out(unit, mean_seen, alpha):
        # The running test rarely rules out the sample mean itself; then only the current wealth is tested.
        running = False
    outside, inside = 0.0, mean_seen
    for _ in range(HALVINGS):
        middle = (outside + inside) / 2.0
        out = is_ruled_out(unit, middle, alpha, running=running)
        outside, inside = (middle, inside) if out else (outside, middle)
    return low + width * outside


def is_ruled_out(unit: FloatArray, mean: float, alpha: float, *, running: bool = True) -> bool:
    """Return whether a mean in [0, 1], and with it every smaller one, has been ruled out; at any time, or only now."""
    rich = -math.log(alpha) + math.log(GAMBLERS.size)
    if mean <= 0.0:
        return bool(unit.size) and float(unit.max()) > 0.0
    logs = np.zeros((GAMBLERS.size, 1))
    for start in range(0, unit.size, PORTION):
        logs = logs + np.cumsum(growth(unit[start : start + PORTION], mean), axis=1)
        if running and float(np.logaddexp.reduce(logs, axis=0).max()) >= rich:
            return True
        logs = logs[:, -1:]
    return float(np.logaddexp.reduce(logs, axis=0)[0]) >= rich


def growth(unit: FloatArray, mean: float) -> FloatArray:
    """Return by how much each gambler's log fortune grows with each score."""
    log_growth: FloatArray = np.log1p(GAMBLERS[:, None] * (unit / max(mean, TINY) - 1.0))
    return log_growth
