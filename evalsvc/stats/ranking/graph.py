r"""The comparison graph: which configs are comparable, and which strengths are unbounded.

A strength is unbounded where no config outside a set has ever won or tied against a member of the set: the likelihood
then increases without limit as the set moves away (Ford 1957, Solution of a ranking problem from binary comparisons,
AMM 64).

Ties connect two configs only as far as the tie parameter is known, and only losses determine it. Where no pair has both
wins and losses, strengths can move apart by :math:`d` while the logarithm of the tie parameter grows by ½: a pair with
wins needs :math:`d_i - d_j \ge 1`, one with ties :math:`|d_i - d_j| \le 1`. Six wins, 34 ties and no loss are equally
likely with a winner that is better by any amount. Whether such :math:`d` exist, and how far apart they can be, is a
shortest-path problem (difference constraints; Cormen et al., Introduction to Algorithms, 24.4).
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
    """The comparison graph of a set of configs.

    Attributes
    ----------
    group : ndarray of int
        Configs with the same number are connected by judgements; configs with different numbers are not comparable.
    reaches : ndarray of bool
        `reaches[i, j]`: i has won or tied against j, or against a config that reaches j.
    drifts : ndarray of bool
        `drifts[i, j]`: i can be stronger than j by any amount if ties are correspondingly more likely.
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
        groups = [np.flatnonzero(self.group == number).tolist() for number in np.unique(self.group)]
        return sorted(groups, key=lambda group: (-len(group), group))


def build_graph(n_configs: int, pairs: IntArray, counts: PairCounts) -> MatchGraph:
    """Return what one row of counts connects."""
    from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped, unused-ignore]

    beats = np.eye(n_configs, dtype=bool)
    beats |= _find_losses(n_configs, pairs, counts.first + counts.tie, counts.second + counts.tie)
    group: Any = connected_components(beats | beats.T, directed=False)[1]
    for through in range(n_configs):
        beats |= beats[:, through, None] & beats[None, through, :]
    return MatchGraph(np.asarray(group, dtype=np.int64), beats, _drifts(n_configs, pairs, counts))


def _drifts(n_configs: int, pairs: IntArray, counts: PairCounts) -> NDArray[np.bool_]:
    """Return which configs can move away from which without bound together with the tie parameter.

    All entries are False without ties.
    """
    nobody = np.zeros((n_configs, n_configs), dtype=bool)
    if not (counts.tie > 0).any():
        return nobody
    # furthest[i, j]: by how much j may lie above i.
    furthest = np.where(np.eye(n_configs, dtype=bool), 0.0, np.inf)
    furthest[_find_losses(n_configs, pairs, counts.tie, counts.tie)] = 1.0
    furthest[_find_losses(n_configs, pairs, counts.first, counts.second)] = -1.0
    for through in range(n_configs):
        furthest = np.minimum(furthest, furthest[:, through, None] + furthest[None, through, :])
    return nobody if (np.diagonal(furthest) < 0).any() else furthest.T > 0


def _find_losses(n_configs: int, pairs: IntArray, first: FloatArray, second: FloatArray) -> NDArray[np.bool_]:
    """Return who has something against whom, of what pairs' first and second configs have."""
    losses = np.zeros((n_configs, n_configs), dtype=bool)
    losses[pairs[:, 0], pairs[:, 1]] = (first > 0).reshape(-1)
    losses[pairs[:, 1], pairs[:, 0]] = (second > 0).reshape(-1)
    return losses
