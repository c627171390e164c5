"""What was judged: who met whom on which example, who won, and sums of that by pair under any weights of examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalsvc.stats.basics.checks import FloatArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped, unused-ignore]

IntArray: TypeAlias = NDArray[np.int64]
FIRST, TIE, SECOND = 0, 1, 2
# So many numbers at once: draws times pairs.
CHUNK = 2_000_000


@dataclass(frozen=True, slots=True)
class PairCounts:
    """By pair, in the last axis: how often its first config won, neither did, and its second."""

    first: FloatArray
    tie: FloatArray
    second: FloatArray

    @property
    def total(self) -> FloatArray:
        """How often each pair was judged."""
        return self.first + self.tie + self.second

    def plus(self, other: PairCounts) -> PairCounts:
        """Return both together."""
        return PairCounts(self.first + other.first, self.tie + other.tie, self.second + other.second)

    def swap(self) -> PairCounts:
        """Return the same with the sides exchanged."""
        return PairCounts(self.second, self.tie, self.first)


@dataclass(frozen=True)
class Matches:
    """Judgements without errors; configs are numbered from 0, in each row `first` < `second`.

    Attributes
    ----------
    n_configs : int
        All that are to be ranked, those without a judgement included.
    example, first, second, outcome : ndarray of int
        One place for each judgement. `outcome` is `FIRST`, `TIE` or `SECOND`; examples are any numbers.
    """

    n_configs: int
    example: IntArray
    first: IntArray
    second: IntArray
    outcome: IntArray

    @classmethod
    def from_rows(cls, n_configs: int, rows: list[tuple[int, int, int, int]]) -> Matches:
        """Return the matches of rows (example, first, second, outcome), turned so that first < second.

        Raises
        ------
        ValueError
            For a config that does not exist, one that meets itself, or an outcome of another kind.
        """
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
        example, first, second, outcome = table.T
        if table.size and (table[:, 1:3].min() < 0 or table[:, 1:3].max() >= n_configs or (first == second).any()):
            raise ValueError("`rows` must be about two different configs of those that are there.")
        if not np.isin(outcome, (FIRST, TIE, SECOND)).all():
            raise ValueError("`rows` must have the outcomes 0, 1 or 2.")
        is_swapped = first > second
        return cls(
            n_configs,
            example.copy(),
            np.where(is_swapped, second, first),
            np.where(is_swapped, first, second),
            np.where(is_swapped, SECOND - outcome, outcome),
        )

    @cached_property
    def pairs(self) -> IntArray:
        """The pairs that were judged, a row for each."""
        return self._paired[0]

    @cached_property
    def pair_of(self) -> IntArray:
        """The row in `pairs` of each judgement."""
        return self._paired[1]

    @cached_property
    def n_examples(self) -> int:
        """How many examples have a judgement."""
        return int(self._examples.max(initial=-1)) + 1

    @cached_property
    def examples_of(self) -> IntArray:
        """On how many examples each config was judged."""
        sides = np.concatenate((self.first, self.second))
        keys = np.unique(sides * max(1, self.n_examples) + np.tile(self._examples, 2))
        return np.bincount(keys // max(1, self.n_examples), minlength=self.n_configs)

    @cached_property
    def has_ties(self) -> bool:
        """Whether any judgement is a tie."""
        return bool((self.outcome == TIE).any())

    @cached_property
    def counts(self) -> PairCounts:
        """Each judgement counted once."""
        return next(self.weighted(np.ones((1, self.n_examples))))

    def weighted(self, weights: FloatArray) -> Iterator[PairCounts]:
        """Yield the counts with each example weighted, for some rows of `weights` after the other."""
        step = max(1, CHUNK // max(1, 3 * len(self.pairs)))
        for start in range(0, len(weights), step):
            sums = np.asarray((self._by_example.T @ weights[start : start + step].T).T)
            yield PairCounts(*sums.reshape(len(sums), -1, 3).transpose(2, 0, 1))

    @cached_property
    def _paired(self) -> tuple[IntArray, IntArray]:
        keys, rows = np.unique(self.first * self.n_configs + self.second, return_inverse=True)
        return np.stack((keys // self.n_configs, keys % self.n_configs), axis=1), rows.reshape(-1)

    @cached_property
    def _examples(self) -> IntArray:
        return np.unique(self.example, return_inverse=True)[1].reshape(-1)

    @cached_property
    def _by_example(self) -> csr_matrix:
        from scipy.sparse import csr_matrix

        columns = self.pair_of * 3 + self.outcome
        shape = (self.n_examples, 3 * len(self.pairs))
        return csr_matrix((np.ones(len(columns)), (self._examples, columns)), shape=shape)
