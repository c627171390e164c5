"""Alignments of the calls of a conversation with the expected ones: matchings, subsequences and edits.

Calls of one message have no order. `fits[i, j]` is whether call i is equal to expected call j.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from evaluators import budget

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Fits: TypeAlias = "NDArray[np.bool_]"
    Grades: TypeAlias = "NDArray[np.float64]"
    Row: TypeAlias = "NDArray[np.int32]"

Groups: TypeAlias = Sequence[Sequence[int]]
"""The positions of the calls of each message."""
MAX_ORDERED = 4
"""The most calls of one message that are put in their best order; more are ordered as the other side is."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which calls and expected calls are compared, by message, and which of them are equal."""

    groups: Groups
    expected: Groups
    is_flat: bool
    fits: Fits

    @property
    def n_calls(self) -> int:
        """Return the number of calls."""
        return int(self.fits.shape[0])

    @property
    def n_expected(self) -> int:
        """Return the number of expected calls."""
        return int(self.fits.shape[1])


def match_most(fits: Fits) -> list[int]:
    """Return for each call its expected call in a maximum matching (Hopcroft-Karp), or -1."""
    if not fits.size:
        return [-1] * int(fits.shape[0])
    n_columns = fits.sum(axis=1)
    if n_columns.max() <= 1 and fits.sum(axis=0).max() <= 1:
        return [int(column) if n else -1 for column, n in zip(fits.argmax(axis=1), n_columns, strict=True)]
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return [int(column) for column in maximum_bipartite_matching(csr_matrix(fits), perm_type="column")]


def count_matched(fits: Fits) -> int:
    """Return the size of a maximum matching."""
    return sum(column >= 0 for column in match_most(fits))


def assign_best(grades: Grades) -> float:
    """Return the largest sum of grades over pairs in which each call and each expected call occurs at most once."""
    if not grades.size:
        return 0.0
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(grades, maximize=True)
    return float(grades[rows, columns].sum())


def find_first_unequal(alignment: Alignment) -> int | None:
    """Return the first message with other calls than the expected ones, as multisets; None where all are.

    A flat list is cut at the sizes of the messages. The number of messages is returned where only expected ones follow.
    """
    expected = alignment.expected
    if alignment.is_flat:
        flat, ends = [group[0] for group in expected], 0
        expected = []
        for group in alignment.groups:
            expected.append(flat[ends : ends + len(group)])
            ends += len(group)
        expected += [[position] for position in flat[ends:]]
    for index, group in enumerate(alignment.groups):
        wanted = expected[index] if index < len(expected) else ()
        if len(wanted) != len(group):
            return index
        is_equal = alignment.fits[group[0], wanted[0]] if len(group) == 1 else None
        if not (count_matched(alignment.fits[group][:, wanted]) == len(group) if is_equal is None else is_equal):
            return index
    return len(alignment.groups) if len(expected) > len(alignment.groups) else None


def take_in_order(alignment: Alignment) -> list[int]:
    """Return the expected calls that the messages take one after the other.

    Each message takes as many of the next ones as match, in any order. All are taken where the expected calls are a
    subsequence of the calls.
    """
    taken: list[int] = []
    wanted, number, fits = _get_group(alignment, 0), 0, alignment.fits.tolist()
    for group in alignment.groups:
        budget.check()
        owners: dict[int, int] = {}
        while wanted:
            taken_here = [position for position in wanted if _take(position, group, fits, owners)]
            taken += taken_here
            wanted = [position for position in wanted if position not in taken_here]
            if wanted:
                break
            number += 1
            wanted = _get_group(alignment, number)
    return taken


def _get_group(alignment: Alignment, number: int) -> list[int]:
    return list(alignment.expected[number]) if number < len(alignment.expected) else []


def _take(position: int, group: Sequence[int], fits: Sequence[Sequence[bool]], owners: dict[int, int]) -> bool:
    """Match an expected call with a call of a message, moving those that were matched before; False if none is free.

    `owners` has the expected call of each call. An augmenting path is looked for in breadth.
    """
    came_from: dict[int, int] = {}
    queue = [position]
    for wanted in queue:
        for call in group:
            if call in came_from or not fits[call][wanted]:
                continue
            came_from[call] = wanted
            if call not in owners:
                _reassign(call, position, came_from, owners)
                return True
            queue.append(owners[call])
    return False


def _reassign(call: int, position: int, came_from: dict[int, int], owners: dict[int, int]) -> None:
    places = {wanted: call for call, wanted in owners.items()}
    while True:
        wanted = came_from[call]
        owners[call] = wanted
        if wanted == position:
            return
        call = places[wanted]


def count_common(alignment: Alignment) -> int:
    """Return the length of the longest common subsequence, with each message's calls ordered as the other side's."""
    import numpy as np

    return max(
        int(_run(_drop_unfitting(groups, fits), fits[:, order], _extend_common, np.maximum)[-1])
        for groups, order, fits in _list_orders(alignment)
    )


def _drop_unfitting(groups: Groups, fits: Fits) -> Groups:
    """Leave out the calls that no common subsequence can have."""
    import numpy as np

    is_fitting: list[bool] = np.any(fits, axis=1).tolist()
    return [[call for call in group if is_fitting[call]] for group in groups]


def count_edits(alignment: Alignment) -> int:
    """Return the Levenshtein distance, with each message's calls ordered as the other side's."""
    import numpy as np

    return min(
        len(order) + int(_run(groups, fits[:, order], _extend_edits, np.minimum)[-1])
        for groups, order, fits in _list_orders(alignment)
    )


def _list_orders(alignment: Alignment) -> list[tuple[Groups, list[int], Fits]]:
    """Return sides to align: one with messages in their best order, and the order of the other's calls.

    Where both sides have messages of several calls, the order of each is fixed once.
    """
    sides = []
    if _has_parallel(alignment.groups) or not _has_parallel(alignment.expected):
        sides.append((alignment.groups, alignment.expected, alignment.fits))
    if _has_parallel(alignment.expected):
        sides.append((alignment.expected, alignment.groups, alignment.fits.T))
    return [_order(groups, others, fits) for groups, others, fits in sides]


def _has_parallel(groups: Groups) -> bool:
    return any(len(group) > 1 for group in groups)


def _order(groups: Groups, others: Groups, fits: Fits) -> tuple[Groups, list[int], Fits]:
    sequence = [call for group in groups for call in group]
    order = [call for group in _stand(others, sequence, fits.T) for call in group]
    ordered = _stand(groups, order, fits)
    split = [[[call] for call in group] if len(group) > MAX_ORDERED else [group] for group in ordered]
    return [part for parts in split for part in parts], order, fits


def _stand(groups: Groups, order: Sequence[int], fits: Fits) -> list[list[int]]:
    """Return the groups, the calls of each in the order of their first equals on the other side."""
    begin, ordered, is_parallel = 0, [], _has_parallel(groups)
    for group in groups:
        if len(group) == 1 and not is_parallel:
            ordered.append(list(group))
            continue
        places = {call: _find_next(fits[call], order, begin) for call in group}
        ordered.append(sorted(group, key=lambda call: places[call]))
        begin = max([begin, *(place for place in places.values() if place < len(order))])
    return ordered


def _find_next(row: Fits, order: Sequence[int], begin: int) -> int:
    places = row[order[begin:]].nonzero()[0]
    return begin + int(places[0]) if len(places) else len(order)


def _run(groups: Groups, fits: Fits, extend: Callable[[Row, Row], None], choose: np.ufunc) -> Row:
    """Return the last row of a dynamic program over the calls; those of a group come in whatever order is best.

    Of a group, there is a row for each set of its calls that came already: first for the sets of one call, then two.
    Calls that fit nothing are alike, so that a group of such calls has one order. `extend` changes rows in place;
    `choose` is the better of two numbers, along a row and of two rows.
    """
    import numpy as np

    row: Row = np.zeros(fits.shape[1] + 1, dtype=np.int32)
    numbers = fits.astype(np.int32)
    is_fitting: list[bool] = np.any(fits, axis=1).tolist()
    for group in groups:
        budget.check()
        if len(group) == 1 or not any(is_fitting[call] for call in group):
            for call in group:
                extend(row, numbers[call])
                row = np.asarray(choose.accumulate(row), dtype=np.int32)
            continue
        rows: Row = row[None, :]
        members = np.array(group)
        for before, last in _plan_sets(len(group)):
            rows = rows[before]
            extend(rows, numbers[members[last]])
            rows = np.asarray(choose.accumulate(choose.reduce(rows, axis=1), axis=-1), dtype=np.int32)
        row = rows[0]
    return row


@lru_cache(maxsize=MAX_ORDERED)
def _plan_sets(size: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return for 1 to `size` calls of a group: for each set of so many, each member that may come last.

    Of each: the number of the set without it, among the sets of one call fewer, and its place in the group.
    """
    import numpy as np

    plan = []
    smaller: dict[tuple[int, ...], int] = {(): 0}
    for n in range(1, size + 1):
        sets = list(combinations(range(size), n))
        before = [[smaller[tuple(place for place in chosen if place != last)] for last in chosen] for chosen in sets]
        plan.append((np.array(before), np.array(sets)))
        smaller = {chosen: number for number, chosen in enumerate(sets)}
    return plan


def _extend_common(row: Row, fits: Row) -> None:
    import numpy as np

    np.maximum(row[..., 1:], row[..., :-1] + fits, out=row[..., 1:])


def _extend_edits(row: Row, fits: Row) -> None:
    """Extend distances, each less its position: an expected call that is left out costs nothing then."""
    import numpy as np

    moved = row[..., :-1] - fits
    row += 1
    np.minimum(row[..., 1:], moved, out=row[..., 1:])
