"""By how much one config beats another: intervals for the mean of a paired difference.

Both configs scored the same examples, so each example gives one difference, first minus second, and what makes an
example hard for both cancels out. All intervals are right for one look; `racing` is for those who watch.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from evalsvc.stats.basics.checks import Scores, as_row, validate_level
from evalsvc.stats.basics.results import DEGENERATE, FEW_SCORES
from evalsvc.stats.formulas.clusters import cluster_mean_interval, cluster_method, number_clusters, sum_clusters
from evalsvc.stats.formulas.extremes import added_scores
from evalsvc.stats.formulas.finite import Ends, squared_correction, t_margin, t_quantile

NEW_DATA, THIS_SET = "new data", "this set"


@dataclass(frozen=True, slots=True)
class Differences:
    """Sums of paired differences: all that the intervals need.

    Attributes
    ----------
    n : int
        Examples that both configs have scored.
    total, squares : float
        Sum of the differences, and of their squares.
    n_plus, n_minus : int
        On how many examples the first scored higher, and lower.
    """

    n: int
    total: float
    squares: float
    n_plus: int
    n_minus: int

    @property
    def mean(self) -> float:
        """The mean difference; undefined without any."""
        return self.total / self.n

    @property
    def variance(self) -> float:
        """The sample variance, with n-1; 0 below two differences, and for what rounding leaves of none."""
        if self.n < 2:
            return 0.0
        squares = self.squares - self.total * self.mean
        return squares / (self.n - 1) if squares > 1e-12 * self.squares else 0.0


@dataclass(frozen=True, slots=True)
class PairedInterval:
    """An interval for a mean difference, first minus second; attributes as in `estimator.Estimate`.

    `value`, `lower` and `upper` are in the unit of the scores, None where undefined.
    """

    value: float | None
    lower: float | None
    upper: float | None
    n: int
    population: int | None
    method: str
    level: float
    covers: str
    warnings: tuple[str, ...]


def compute_differences(first: Scores, second: Scores) -> Differences:
    """Return the sums of the differences of these pairs.

    Examples
    --------
    >>> compute_differences([1, 1, 0, 1], [0, 1, 1, 0])
    Differences(n=4, total=1.0, squares=3.0, n_plus=2, n_minus=1)
    """
    row = as_row(first) - as_row(second)
    n_plus, n_minus = int((row > 0.0).sum()), int((row < 0.0).sum())
    return Differences(int(row.size), math.fsum(row), math.fsum(row * row), n_plus, n_minus)


def pair_interval(
    pairs: Differences,
    *,
    population: int | None,
    level: float,
    use_fpc: bool,
    binary: bool,
    reach: float | None = None,
) -> PairedInterval:
    r"""Return an interval for the mean paired difference.

    Where the scores have a range, the adjusted Wald interval of Bonett & Price: pairs with the maximum difference are
    added, equally many in each direction, so that the interval has a width even where all pairs agree. They add one
    pair in each direction; here it is 1.25 at the level 0.95 and more above, since with one the coverage of rare
    differences falls to 93.7 %. They use a normal quantile, here it is Student's: the variance is estimated, and in the
    tail that sixteen configs need the normal quantile has more than twice the nominal error rate. Without a range
    Student's own interval.

    .. math:: c \pm t_{n-1}\sqrt{\frac{q - c^2}{n+2m}}, \qquad
              c = \frac{\sum d}{n+2m}, \quad q = \frac{\sum d^2 + 2mr^2}{n+2m}

    Parameters
    ----------
    pairs : Differences
        Of a random part of the set.
    population : int or None
        Size N of the set.
    level : float
        Confidence level.
    use_fpc : bool
        True for this set, with the variance times 1-n/N; False for new data.
    binary : bool
        Whether both scores are declared to be 0 or 1; the differences then reach from -1 to 1.
    reach : float or None
        Largest possible difference r: the width of the scores' range, 1 for scores rescaled to [0, 1]. None
        for scores without a range.

    Returns
    -------
    PairedInterval
        Without an interval for fewer than two or equal differences without a range.

    Raises
    ------
    ValueError
        If there are more pairs than the set contains, or a difference exceeds `reach`.

    References
    ----------
    Bonett & Price (2012), Adjusted Wald confidence interval for a difference of binomial proportions based on paired
    data, Journal of Educational and Behavioral Statistics 37.

    Examples
    --------
    >>> pairs = Differences(50, 10.0, 14.0, 12, 2)
    >>> found = pair_interval(pairs, population=400, level=0.95, use_fpc=True, binary=True)
    >>> found.method, found.value, round(found.lower, 3), round(found.upper, 3)
    ('bonett-price', 0.2, 0.055, 0.328)
    """
    set_size = population if use_fpc else None
    level, reach = validate_level(level), 1.0 if binary else reach
    if set_size is not None and pairs.n > set_size:
        raise ValueError(f"`population` must not be less than the pairs seen, {pairs.n}, and is {set_size}.")
    if reach is not None and pairs.squares > pairs.n * reach * reach * (1.0 + 1e-9):
        raise ValueError(f"`pairs` must not differ by more than `reach`, {reach:g}.")
    ends, method, warnings = _ends(pairs, set_size, level, binary, reach)
    lower, upper = ends if ends is not None else (None, None)
    value = pairs.mean if pairs.n else None
    covers = NEW_DATA if set_size is None else THIS_SET
    return PairedInterval(value, lower, upper, pairs.n, population, method, level, covers, warnings)


def _ends(
    pairs: Differences, population: int | None, level: float, binary: bool, reach: float | None
) -> tuple[Ends | None, str, tuple[str, ...]]:
    few = (FEW_SCORES,) if pairs.n < 30 else ()
    if not pairs.n:
        return None, "none", few
    if pairs.n == population:
        return (pairs.mean, pairs.mean), "census", ()
    if reach is not None:
        return _adjusted(pairs, reach, population, level), "bonett-price" if binary else "adjusted-wald", few
    if pairs.variance == 0.0:
        return None, "none", (*few, DEGENERATE)
    margin = t_margin(pairs.variance, pairs.n, population, level)
    return (pairs.mean - margin, pairs.mean + margin), "t", few


def _adjusted(pairs: Differences, reach: float, population: int | None, level: float) -> Ends:
    # As in the seed's Wilson interval, a finite set makes the sample larger, and so the added examples fade out.
    scale, added = 1.0 / squared_correction(pairs.n, population), added_scores(level)
    size = pairs.n * scale + 2.0 * added
    centre = pairs.total * scale / size
    squares = (pairs.squares * scale + 2.0 * added * reach * reach) / size
    quantile = t_quantile(max(1, pairs.n - 1), level)
    margin = quantile * math.sqrt(max(0.0, squares - centre * centre) / size)
    return max(-reach, min(centre - margin, pairs.mean)), min(reach, max(centre + margin, pairs.mean))


def cluster_interval(
    differences: Scores, clusters: Sequence[Hashable], level: float, *, reach: float | None = None
) -> PairedInterval:
    """Return an interval for the mean difference on new data when examples come in clusters, such as one document's.

    Parameters
    ----------
    differences : sequence of float
        One per example.
    clusters : sequence of hashable
        Which cluster each example belongs to.
    level : float
        Confidence level.
    reach : float, optional
        Largest possible difference, as in `pair_interval`.

    Returns
    -------
    PairedInterval
        By the formulas of `formulas.clusters`: with `reach` there always is an interval; without, none for fewer than
        two clusters or equal ones.

    Examples
    --------
    >>> found = cluster_interval([1, 1, 0, 0, 1, 0], ["a", "a", "b", "b", "c", "c"], 0.95)
    >>> found.value, round(found.lower, 3), round(found.upper, 3)
    (0.5, -0.742, 1.742)
    """
    row, level = as_row(differences), validate_level(level)
    if row.size != len(clusters):
        raise ValueError(f"`clusters` must be as many as the differences, {row.size}, not {len(clusters)}.")
    limits = None if reach is None else (-reach, reach)
    ends, warnings = cluster_mean_interval(
        sum_clusters(row, number_clusters(clusters)), level=level, value_range=limits
    )
    lower, upper = ends if ends is not None else (None, None)
    value = float(row.mean()) if row.size else None
    method = cluster_method(ends, limits)
    return PairedInterval(value, lower, upper, int(row.size), None, method, level, NEW_DATA, warnings)
