"""The leader from paired differences: the config that loses none."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from evalsvc.stats.pairs.paired import Differences

# What rounding leaves of a difference that is none, as a share of one example.
ROUNDING = 1e-9
Between = Callable[[int, int], Differences | None]


def select_leader(ids: Sequence[int], differences: Between) -> int:
    """Return the id that loses no paired difference.

    If several lose none, or each loses one, return the one with the largest minimum standardised difference; ties go to
    the first to arrive.

    Parameters
    ----------
    ids : sequence of int
        In their order of arrival; at least one.
    differences : function
        From two ids to the sums of their paired differences, first minus second; None without pairs. It is
        called once for each two ids, with the earlier one first.
    """
    margins: dict[int, list[float]] = {id: [] for id in ids}
    for first, second in itertools.combinations(ids, 2):
        if (difference := differences(first, second)) is not None:
            margin = standardize(difference)
            margins[first].append(margin)
            margins[second].append(-margin)
    unbeaten = [id for id in ids if all(margin >= 0.0 for margin in margins[id])]
    return max(unbeaten or ids, key=lambda id: min(margins[id], default=0.0))


def standardize(pairs: Differences) -> float:
    """Return a mean difference in standard errors; 0 for what is only rounding."""
    if abs(pairs.total) <= ROUNDING * pairs.n:
        return 0.0
    error = math.sqrt(pairs.variance / pairs.n)
    return pairs.mean / error if error > 0.0 else math.copysign(math.inf, pairs.total)
