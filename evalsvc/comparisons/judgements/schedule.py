"""Which pairs are judged on which examples: spread, so that no pair uses up the examples before another has any."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from evalsvc.comparisons.models import OutputComparison

Pair = tuple[int, int]
Pick = tuple[int, int, int]
"""Two configs and a position."""


def pairs_of_design(design: str, configs: Sequence[int]) -> list[Pair]:
    """Return the pairs of a design; each has the config first that comes first in the list."""
    if design == OutputComparison.Design.BASELINE:
        return [(configs[0], other) for other in configs[1:]]
    return list(itertools.combinations(configs, 2))


class PairSchedule:
    """Choose the examples to judge for each pair: one seeded order, started at a different position by each pair.

    `answered` maps each config to the positions where it has an output or a recorded failure.
    """

    def __init__(self, pairs: Sequence[Pair], answered: Mapping[int, frozenset[int]], seed: int) -> None:
        self.pairs = list(pairs)
        every = sorted(frozenset().union(*answered.values()))
        self._order = [every[i] for i in np.random.default_rng(seed).permutation(len(every))]
        self._answered = answered

    @property
    def n_most(self) -> int:
        """How many judgements there can be."""
        return sum(len(self._answered[first] & self._answered[second]) for first, second in self.pairs)

    def positions(self, pair: Pair) -> list[int]:
        """Return the positions of a pair in its own order."""
        start = self.pairs.index(pair) * len(self._order) // max(1, len(self.pairs))
        common = self._answered[pair[0]] & self._answered[pair[1]]
        return [pos for pos in self._order[start:] + self._order[:start] if pos in common]

    def rounds(self) -> Iterator[Pick]:
        """Yield all picks: the first of each pair, then the second of each."""
        lists = [self.positions(pair) for pair in self.pairs]
        for places in itertools.zip_longest(*lists):
            for pair, pos in zip(self.pairs, places, strict=True):
                if pos is not None:
                    yield (*pair, pos)

    def select_picks(self, wanted: Mapping[Pair, int], used: Mapping[Pair, int]) -> list[Pick]:
        """Return the next picks of some pairs, so many of each."""
        return [
            (*pair, pos)
            for pair, n in sorted(wanted.items())
            for pos in self.positions(pair)[used.get(pair, 0) : used.get(pair, 0) + n]
        ]
