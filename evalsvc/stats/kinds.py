"""The kinds of metric: how the scores of single examples become one number, and what may be said of it.

A kind is an object. Whoever handles a metric asks its kind; nobody compares names. `KINDS` is the one list of them.
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
    """What every kind answers; here as a mean does, from which the kinds below differ.

    Attributes
    ----------
    name : str
        As plans and answers say it.
    covers : str or None
        What its number is of: ``new data`` where more examples would settle it, ``this set`` where only these have it.
        None claims nothing, and has no interval.
    is_of_single_scores : bool
        Whether each example has one number, in the metric's range if it declares one: then two configs differ by a
        number on each example, what is missing has bounds, and bets can be made.
    takes_denominator : bool
        Whether an output gives two numbers.
    why_not_pairable : str or None
        What follows the metric's name in the sentence that refuses to compare configs by it; None where they can be.
    why_no_strategy : str or None
        The sentence that refuses every strategy; None where some fit.
    stand_ins : mapping of str to str
        Strategies that do not fit, and those that answer in their place.
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
        """The kind whose number is that of one example on average: it may have an interval for new data."""
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
        """Return the same as it is shown: a mean of equal scores is one of them, whatever rounding says."""
        return sums.lowest if sums.is_flat else self.quotient(sums)

    def variance(self, sums: Sums) -> float:
        """Return the variance, with n-1, that the standard error of the number goes by."""
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

    def of_scores(self, scores: FloatArray) -> float | None:
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

    def of_scores(self, scores: FloatArray) -> float:
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
        """Refuse nothing: a declared range is of the ratio, and the sums hold its numerators."""

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

    def of_scores(self, scores: FloatArray) -> None:
        """Return nothing: numerators alone make no ratio."""


class Untyped(MetricKind):
    """A number that is shown as it is: the mean so far, of which nothing is claimed."""

    name = "untyped"
    covers = None
    is_of_single_scores = False
    why_not_pairable = "is untyped: its numbers are only shown. Give it a `type` to compare them, in another metric."
    why_no_strategy = "A metric without a type is shown as it is; no strategy applies to it."

    def default_strategy(self, binary: bool) -> None:
        """Return nothing: it has no interval."""


ALGEBRAIC, DISTRIBUTIVE, RATIO, UNTYPED = Algebraic(), Distributive(), Ratio(), Untyped()
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
