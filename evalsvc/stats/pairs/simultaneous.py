r"""Many configs at once: how sure each comparison must be so that all of them are right together.

Of sixteen equal configs, some interval at 95 % for a difference leaves out zero in about two thirds of all views.
Bonferroni's inequality mends that without any assumption: at :math:`\alpha/m` for each of m comparisons, the chance
that any of them is wrong is at most :math:`\alpha`.

References
----------
Dunn (1961), Multiple comparisons among means, JASA 56; Dunnett (1955), A multiple comparison procedure for comparing
several treatments with a control, JASA 50 (against a baseline only K-1 comparisons are made).
"""

from __future__ import annotations

from evalsvc.stats.basics.checks import validate_level


def n_comparisons(n_configs: int, *, has_baseline: bool = False) -> int:
    """Return the number of possible comparisons: all pairs, or each config against a baseline.

    Parameters
    ----------
    n_configs : int
        All configs ever added, stopped ones included: these were compared as well.
    has_baseline : bool
        Whether a baseline was declared before the start. One chosen afterwards is equivalent to a leader.

    Examples
    --------
    >>> n_comparisons(16), n_comparisons(16, has_baseline=True), n_comparisons(1)
    (120, 15, 1)
    """
    if n_configs < 1:
        raise ValueError(f"`n_configs` must be at least 1, not {n_configs}.")
    return max(1, n_configs - 1 if has_baseline else n_configs * (n_configs - 1) // 2)


def simultaneous_level(level: float, comparisons: int) -> float:
    """Return the level of each of n intervals that makes all simultaneously valid at `level`.

    Examples
    --------
    >>> round(simultaneous_level(0.95, n_comparisons(16)), 6)
    0.999583
    """
    if comparisons < 1:
        raise ValueError(f"`comparisons` must be at least 1, not {comparisons}.")
    return 1.0 - (1.0 - validate_level(level)) / comparisons


def word_threshold(level: float, comparisons: int) -> float:
    """Return the e-value required to conclude "better" or "worse", over all comparisons and all interim analyses.

    Each comparison makes two claims, better and worse, and half the error goes to each.

    Examples
    --------
    >>> round(word_threshold(0.95, 1)), round(word_threshold(0.95, n_comparisons(16)))
    (40, 4800)
    """
    if comparisons < 1:
        raise ValueError(f"`comparisons` must be at least 1, not {comparisons}.")
    return 2.0 * comparisons / (1.0 - validate_level(level))
