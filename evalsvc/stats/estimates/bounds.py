"""What missing scores do to an estimate: they widen its interval, and from a tenth on leave only bounds.

A score that is missing may have been any value of the metric's range. Counted as the worst and as the best value it
gives the bounds of Manski (2003), Partial Identification of Probability Distributions, which hold whatever the reason
why it is missing.
"""

from __future__ import annotations

from evalsvc.stats.formulas.finite import Ends

MISSING, FAILURES_EXCLUDED, FAILURES_WORST = "missing", "failures_excluded", "failures_worst"
NOTABLE_SHARE, MOST_SHARE = 0.01, 0.1
BOUNDED = "missing worst and best"


def is_notable(n: int, n_missing: int) -> bool:
    """Return whether so many missing rows beside n others are worth a warning: one in a hundred of all."""
    return n_missing > 0 and n_missing >= NOTABLE_SHARE * (n + n_missing)


def is_only_bounded(n: int, n_missing: int) -> bool:
    """Return whether so many rows are missing that there are bounds and no estimate: a tenth of all."""
    return n_missing > 0 and n_missing >= MOST_SHARE * (n + n_missing)


def widen_for_missing(ends: Ends, n: int, n_missing: int, limits: Ends) -> Ends:
    """Return the interval of a mean of n scores with the missing ones counted as the worst and as the best.

    Parameters
    ----------
    ends : tuple of float
        Interval for the mean of the rows that have a score.
    n, n_missing : int
        Rows with a score, and rows without one; at least one in all.
    limits : tuple of float
        The lowest and the highest possible score.

    Examples
    --------
    >>> lower, upper = widen_for_missing((0.8, 0.9), 95, 5, (0.0, 1.0))
    >>> round(lower, 3), round(upper, 3)
    (0.76, 0.905)
    """
    share = n_missing / (n + n_missing)
    return ends[0] * (1.0 - share) + limits[0] * share, ends[1] * (1.0 - share) + limits[1] * share


def bound_pass_rate(n_pass: int, n_fail: int, n_undecided: int) -> Ends | None:
    """Return the pass rate with all undecided scores as fails and as passes; None where they are less than a tenth.

    Examples
    --------
    >>> bound_pass_rate(60, 20, 20)
    (0.6, 0.8)
    >>> bound_pass_rate(70, 21, 9) is None
    True
    """
    n = n_pass + n_fail + n_undecided
    if not is_only_bounded(n_pass + n_fail, n_undecided):
        return None
    return n_pass / n, (n_pass + n_undecided) / n
