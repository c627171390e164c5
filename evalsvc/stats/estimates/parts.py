r"""Simultaneous estimates of several parts of a dataset: the slices of a metadata value, or the values of a knob.

A reader of twenty slices finds the best and the worst of them. With intervals at the nominal level, at least one of
twenty misses its true value in 64 % of all tables; at :math:`1-\alpha/m` each (Bonferroni) all m are valid at once.

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
    """The estimate of one slice for new data.

    Attributes
    ----------
    value, lower, upper : float or None
        In the unit of one score; None where undefined, never NaN.
    n : int
        Number of scored examples.
    method : str
        The formula used, the same as for the complete set.
    warnings : tuple of str
        As in `newdata.NewDataInterval`; ``n<30`` marks a small slice.
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
    """Estimate each part for new data with simultaneously valid intervals; return these and the level of each.

    Parameters
    ----------
    kind : MetricKind
        For a total each part gets the mean of one score: totals of parts of different sizes are not comparable.
    parts : sequence of SlicePart
        All displayed parts, also those without a score: the set of parts is fixed before any score is known.
    level : float
        Simultaneous confidence level of all intervals.
    value_range : pair of float or None
        Lowest and highest possible score.
    n_others : int
        Number of other intervals displayed with these, such as those of differences.

    Examples
    --------
    >>> from evalsvc.stats.basics.sums import compute_sums
    >>> from evalsvc.stats.kinds import ALGEBRAIC
    >>> parts = [SlicePart(compute_sums([1] * 18 + [0] * 2), True), SlicePart(compute_sums([1] * 10 + [0] * 10), True)]
    >>> (first, second), part_level = joint_estimates(ALGEBRAIC, parts, level=0.95, value_range=(0, 1))
    >>> round(first.lower, 3), round(first.upper, 3), first.method, part_level
    (0.651, 0.991, 'clopper-pearson', 0.975)
    """
    part_level = simultaneous_level(level, max(1, len(parts) + n_others))
    return [_estimate_part(kind.of_one_score, part, part_level, value_range) for part in parts], part_level


def _estimate_part(kind: MetricKind, part: SlicePart, level: float, value_range: ValueRange | None) -> PartEstimate:
    interval = new_data_interval(kind, part.sums, level=level, value_range=value_range, binary=part.binary)
    value = kind.value(part.sums)
    return PartEstimate(value, interval.lower, interval.upper, part.sums.n, interval.method, interval.warnings)
