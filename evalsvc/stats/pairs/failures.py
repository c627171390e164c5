"""Whether a config fails at random, or on the examples that the others find hard as well."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray

ALPHA, ROUNDING = 0.01, 1e-12
NOT_AT_RANDOM = "failures_not_at_random"


def has_failed_at_random(others: FloatArray, failed: NDArray[np.bool_], *, alpha: float = ALPHA) -> bool:
    """Return whether the failures of a config are compatible with failures at random examples.

    Fisher's exact test (two-sided) of the 2x2 table: the config failed or answered, and the other configs scored below
    their mean on the example or not. Failures that depend on the difficulty of an example bias every estimate that
    leaves them out.

    Parameters
    ----------
    others : ndarray of float, shape (n,)
        By example, the mean score of the other configs, higher being better; NaN where none has a score.
    failed : ndarray of bool, shape (n,)
        Whether the config failed on the example; False where it answered.
    alpha : float
        The probability of a false alarm is at most this.

    Returns
    -------
    bool
        True without failures, without answers, and where the others score the same on every example.

    Examples
    --------
    >>> hard = np.array([True] * 40 + [False] * 60)
    >>> has_failed_at_random(np.where(hard, 0.0, 1.0), hard & (np.arange(100) < 15))
    False
    """
    is_known = ~np.isnan(others)
    others, failed = others[is_known], failed[is_known]
    if not failed.any() or failed.all():
        return True
    from scipy.stats import fisher_exact

    # The mean of equal scores may be rounded above them.
    is_hard = others < others.mean() - ROUNDING
    table = [[int((is_hard & rows).sum()), int((~is_hard & rows).sum())] for rows in (failed, ~failed)]
    return bool(fisher_exact(table).pvalue > alpha)
