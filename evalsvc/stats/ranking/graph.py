r"""What the judgements connect: who may be compared with whom, and whose strength has no end.

A strength is unbounded where nobody outside a set of configs has ever won or tied against one of it: the likelihood
then grows for ever as the set moves away (Ford 1957, Solution of a ranking problem from binary comparisons, AMM 64).

Ties bind two configs only as far as the tie parameter is known, and a loss is what tells it. Where no pair has both
wins and losses, strengths may move apart by :math:`d` while :math:`\log\nu` grows by ½: a pair with wins needs
:math:`d_i - d_j \ge 1`, one with ties :math:`|d_i - d_j| \le 1`. Six wins, 34 ties and no loss are as likely with a
winner that is better by any amount. Whether there are such :math:`d`, and how far they may lie apart, are shortest
paths (difference constraints; Cormen et al., Introduction to Algorithms, 24.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray
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
    drifts : ndarray of bool
        `drifts[i, j]`: i may be stronger than j by any amount if ties are as much more likely.
    """

    group: IntArray
    reaches: NDArray[np.bool_]
    drifts: NDArray[np.bool_]

    @property
    def same(self) -> NDArray[np.bool_]:
        """Which configs can be compared with each other."""
        same: NDArray[np.bool_] = self.group[:, None] == self.group[None, :]
        return same

    @property
    def open_above(self) -> NDArray[np.bool_]:
        """`open_above[i, j]`: nothing bounds how much stronger i is than j."""
        return self.same & (~self.reaches.T | self.drifts)

    def groups(self) -> list[list[int]]:
        """Return the configs of each group, the largest first."""
        found = [np.flatnonzero(self.group == number).tolist() for number in np.unique(self.group)]
        return sorted(found, key=lambda group: (-len(group), group))


def graph_of(n_configs: int, pairs: IntArray, counts: PairCounts) -> MatchGraph:
    """Return what one row of counts connects."""
    from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped, unused-ignore]

    scored = np.eye(n_configs, dtype=bool)
    scored |= _against(n_configs, pairs, counts.first + counts.tie, counts.second + counts.tie)
    group: Any = connected_components(scored | scored.T, directed=False)[1]
    for through in range(n_configs):
        scored |= scored[:, through, None] & scored[None, through, :]
    return MatchGraph(np.asarray(group, dtype=np.int64), scored, _drifts(n_configs, pairs, counts))


def _drifts(n_configs: int, pairs: IntArray, counts: PairCounts) -> NDArray[np.bool_]:
    """Return who may move away from whom for ever together with the tie parameter; nobody where there are no ties."""
    nobody = np.zeros((n_configs, n_configs), dtype=bool)
    if not (counts.tie > 0).any():
        return nobody
    # furthest[i, j]: by how much j may lie above i.
    furthest = np.where(np.eye(n_configs, dtype=bool), 0.0, np.inf)
    furthest[_against(n_configs, pairs, counts.tie, counts.tie)] = 1.0
    furthest[_against(n_configs, pairs, counts.first, counts.second)] = -1.0
    for through in range(n_configs):
        furthest = np.minimum(furthest, furthest[:, through, None] + furthest[None, through, :])
    return nobody if (np.diagonal(furthest) < 0).any() else furthest.T > 0


def _against(n_configs: int, pairs: IntArray, first: FloatArray, second: FloatArray) -> NDArray[np.bool_]:
    """Return who has something against whom, of what pairs' first and second configs have."""
    found = np.zeros((n_configs, n_configs), dtype=bool)
    found[pairs[:, 0], pairs[:, 1]] = (first > 0).reshape(-1)
    found[pairs[:, 1], pairs[:, 0]] = (second > 0).reshape(-1)
    return found
