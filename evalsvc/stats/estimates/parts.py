r"""Estimates of parts of a set that hold together: the slices of a metadata value, or the values of a knob.

Whoever reads twenty slices finds the best and the worst of them. At the level of one interval, some of twenty leaves
out its true value in 64 % of all tables; at :math:`1-\alpha/m` each (Bonferroni) all m hold together at the level.

References
----------
Dunn (1961), Multiple comparisons among means, JASA 56.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalsvc.stats.basics.checks import ValueRange
from evalsvc.stats.basics.sums import Sums
from evalsvc.stats.estimates.newdata import new_data_interval
from evalsvc.stats.kinds import MetricKind
from evalsvc.stats.pairs.simultaneous import simultaneous_level


@dataclass(frozen=True, slots=True)
class SlicePart:
    """The scores of one slice: their sums, and whether each of them is 0 or 1."""

    sums: Sums
    binary: bool = False


@dataclass(frozen=True, slots=True)
class PartEstimate:
    """What new data of one slice would settle at.

    Attributes
    ----------
    value, lower, upper : float or None
        In the unit of one score; None where there is no number, never NaN.
    n : int
        Examples that have a score.
    method : str
        The formula that answered, the same as for the whole set.
    warnings : tuple of str
        As of `newdata.NewDataInterval`; ``n<30`` marks a small slice.
    """

    value: float | None
    lower: float | None
    upper: float | None
    n: int
    method: str
    warnings: tuple[str, ...]


def joint_estimates(
    kind: MetricKind, parts: Sequence[SlicePart], *, level: float, value_range: ValueRange | None, n_others: int = 0
) -> tuple[list[PartEstimate], float]:
    """Estimate each part for new data, so that all intervals hold together; and say at which level each stands.

    Parameters
    ----------
    kind : MetricKind
        Of a total each part shows the mean of one score: parts of different sizes have totals that nobody can compare.
    parts : sequence of SlicePart
        All that the reader sees, those without a score too: which they are was fixed before any score was known.
    level : float
        Of all intervals together.
    value_range : pair of float or None
        Lowest and highest possible score.
    n_others : int
        Intervals of another kind that the reader sees beside these, such as those of differences.

    Examples
    --------
    >>> from evalsvc.stats.basics.sums import sums_of
    >>> from evalsvc.stats.kinds import ALGEBRAIC
    >>> parts = [SlicePart(sums_of([1] * 18 + [0] * 2), True), SlicePart(sums_of([1] * 10 + [0] * 10), True)]
    >>> (first, second), each = joint_estimates(ALGEBRAIC, parts, level=0.95, value_range=(0, 1))
    >>> round(first.lower, 3), round(first.upper, 3), first.method, each
    (0.651, 0.991, 'clopper-pearson', 0.975)
    """
    each = simultaneous_level(level, max(1, len(parts) + n_others))
    return [_estimated(kind.of_one_score, part, each, value_range) for part in parts], each


def _estimated(kind: MetricKind, part: SlicePart, level: float, value_range: ValueRange | None) -> PartEstimate:
    found = new_data_interval(kind, part.sums, level=level, value_range=value_range, binary=part.binary)
    value = kind.value(part.sums)
    return PartEstimate(value, found.lower, found.upper, part.sums.n, found.method, found.warnings)
