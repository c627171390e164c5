"""What the judgements connect: who may be compared with whom, and whose strength has no end.

A strength is unbounded where nobody outside a set of configs has ever won or tied against one of it: the likelihood
then grows for ever as the set moves away (Ford 1957, Solution of a ranking problem from binary comparisons, AMM 64).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped, unused-ignore]

from evalsvc.stats.ranking.matches import IntArray, PairCounts


@dataclass(frozen=True, slots=True)
class MatchGraph:
    """Who meets whom.

    Attributes
    ----------
    group : ndarray of int
        Configs of one number are connected by judgements; of others nothing can be said relative to them.
    reaches : ndarray of bool
        `reaches[i, j]`: i has won or tied against j, or against one that reaches j.
    """

    group: IntArray
    reaches: NDArray[np.bool_]

    @property
    def same(self) -> NDArray[np.bool_]:
        """Which configs can be compared with each other."""
        same: NDArray[np.bool_] = self.group[:, None] == self.group[None, :]
        return same

    @property
    def open_above(self) -> NDArray[np.bool_]:
        """`open_above[i, j]`: nothing bounds how much stronger i is than j."""
        return self.same & ~self.reaches.T

    def groups(self) -> list[list[int]]:
        """Return the configs of each group, the largest first."""
        found = [np.flatnonzero(self.group == number).tolist() for number in np.unique(self.group)]
        return sorted(found, key=lambda group: (-len(group), group))


def graph_of(n_configs: int, pairs: IntArray, counts: PairCounts) -> MatchGraph:
    """Return what one row of counts connects."""
    first, second = pairs[:, 0], pairs[:, 1]
    scored = np.eye(n_configs, dtype=bool)
    scored[first, second] |= (counts.first + counts.tie > 0).reshape(-1)
    scored[second, first] |= (counts.second + counts.tie > 0).reshape(-1)
    group: Any = connected_components(scored | scored.T, directed=False)[1]
    for through in range(n_configs):
        scored |= scored[:, through, None] & scored[None, through, :]
    return MatchGraph(np.asarray(group, dtype=np.int64), scored)
