"""The kinds of metric: how the scores of single examples are combined to one number, and which claims it supports.

A kind is an object. Code that depends on the kind calls its methods instead of comparing names. `KINDS` lists all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from evalsvc.stats.basics.checks import FloatArray, check_within
from evalsvc.stats.basics.sums import Sums
from evalsvc.stats.basics.words import NEW_DATA, THIS_SET
from evalsvc.stats.formulas.finite import Ends, feasible


class MetricKind:
    """The interface of all kinds; the defaults are those of a mean, overridden by the kinds below.

    Attributes
    ----------
    name : str
        The name in plans and responses.
    covers : str or None
        What its number covers: ``new data`` if it converges with more examples, ``this set`` if it is specific to
        these.
        None for a kind without an interval.
    is_of_single_scores : bool
        Whether each example has one number, in the metric's range if it declares one: only then do paired differences,
        bounds under missing scores and betting intervals exist.
    takes_denominator : bool
        Whether each output gives two numbers.
    why_not_pairable : str or None
        Completes the error message after the metric's name if configs cannot be compared by it; None if they can.
    why_no_strategy : str or None
        The error message if no strategy applies; None if any does.
    stand_ins : mapping of str to str
        Strategies that do not apply, and those used in their place.
    """

    name: ClassVar[str]
    covers: ClassVar[str | None] = NEW_DATA
    is_of_single_scores: ClassVar[bool] = True
    takes_denominator: ClassVar[bool] = False
    why_not_pairable: ClassVar[str | None] = None
    why_no_strategy: ClassVar[str | None] = None
    stand_ins: ClassVar[Mapping[str, str]] = {}

    def __str__(self) -> str:
        return self.name

    @property
    def of_one_score(self) -> MetricKind:
        """The kind that averages the same scores per example: it can have an interval for new data."""
        return self

    def default_strategy(self, binary: bool) -> str | None:
        """Return the strategy to use when none is named; None for a kind that cannot have an interval."""
        return "exact" if binary else "t"

    def check(self, sums: Sums, limits: Ends | None) -> None:
        """Raise ValueError where the sums contradict the declared range."""
        if sums.lowest is not None and sums.highest is not None:
            check_within(sums.lowest, sums.highest, limits)

    def quotient(self, sums: Sums) -> float | None:
        """Return the number of one score on average, as the sums divide; None where there is none."""
        return sums.mean if sums.n else None

    def value(self, sums: Sums) -> float | None:
        """Return the number for display: the mean of equal scores is exactly that score, without rounding error."""
        return sums.lowest if sums.is_flat else self.quotient(sums)

    def variance(self, sums: Sums) -> float:
        """Return the variance, with n-1, for the standard error of the number."""
        return sums.variance

    def is_degenerate(self, sums: Sums) -> bool:
        """Return whether the scores show no variance."""
        return sums.is_flat

    def certain(self, sums: Sums, population: int | None, limits: Ends) -> Ends:
        """Return the bounds that no score still to come can change."""
        return feasible(sums.total, sums.n, population, limits)

    def scale(self, n: int) -> int:
        """Return by how much the number of one score is multiplied where there are n scores."""
        return 1

    def from_scores(self, scores: FloatArray) -> float | None:
        """Return the number of these scores, at least one; None where single scores do not make it."""
        return float(np.mean(scores))


class Algebraic(MetricKind):
    """The mean of the scores."""

    name = "algebraic"


class Distributive(MetricKind):
    """The sum of the scores of this set. New data have no sum; the mean of one score has its interval."""

    name = "distributive"
    covers = THIS_SET
    # The score test is of a share, and a sum is none.
    stand_ins = {"wilson": "normal"}

    @property
    def of_one_score(self) -> MetricKind:
        """The mean that the sum is made of."""
        return ALGEBRAIC

    def scale(self, n: int) -> int:
        """Return n: the sum is so many means."""
        return n

    def from_scores(self, scores: FloatArray) -> float:
        """Return their sum."""
        return float(np.sum(scores))


class Ratio(MetricKind):
    """The sum of numerators over the sum of denominators, which no single example has."""

    name = "ratio"
    is_of_single_scores = False
    takes_denominator = True
    why_not_pairable = "is a ratio of sums, which no single example has; take its parts as metrics."

    def default_strategy(self, binary: bool) -> str:
        """Return Student's t of the linearised residuals."""
        return "t"

    def check(self, sums: Sums, limits: Ends | None) -> None:
        """Accept any sums: a declared range applies to the ratio, and the sums are those of its numerators."""

    def quotient(self, sums: Sums) -> float | None:
        """Return the ratio; None over nothing."""
        return sums.total / sums.den_total if sums.n and sums.den_total else None

    def value(self, sums: Sums) -> float | None:
        """Return the ratio: equal numerators do not make it one of them."""
        return self.quotient(sums)

    def variance(self, sums: Sums) -> float:
        """Return that of the linearised residuals."""
        return sums.residual_variance()

    def is_degenerate(self, sums: Sums) -> bool:
        """Return whether the ratio is the same for every example."""
        return sums.residual_variance() == 0.0

    def certain(self, sums: Sums, population: int | None, limits: Ends) -> Ends:
        """Return its own range: the unseen denominators can be anything."""
        return limits

    def from_scores(self, scores: FloatArray) -> None:
        """Return nothing: numerators alone make no ratio."""


class UntypedMetric(MetricKind):
    """A number displayed without an interval: the mean so far, without any claim."""

    name = "untyped"
    covers = None
    is_of_single_scores = False
    why_not_pairable = "is untyped: its numbers are only shown. Give it a `type` to compare them, in another metric."
    why_no_strategy = "A metric without a type is shown as it is; no strategy applies to it."

    def default_strategy(self, binary: bool) -> None:
        """Return None: an untyped metric is displayed without an interval."""


ALGEBRAIC, DISTRIBUTIVE, RATIO, UNTYPED = Algebraic(), Distributive(), Ratio(), UntypedMetric()
KINDS: dict[str, MetricKind] = {kind.name: kind for kind in (ALGEBRAIC, DISTRIBUTIVE, RATIO, UNTYPED)}


def kind_named(name: str) -> MetricKind:
    """Return the kind of this name, or raise ValueError.

    Examples
    --------
    >>> kind_named("distributive").scale(400), kind_named("ratio").default_strategy(binary=True)
    (400, 't')
    """
    if name not in KINDS:
        raise ValueError(f"`kind` must be one of {', '.join(KINDS)}, not {name!r}.")
    return KINDS[name]
