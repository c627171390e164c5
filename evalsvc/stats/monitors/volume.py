"""How much arrives: the windows of a series of counts that hold fewer than a limit, or more.

Counts of an application are no independent draws: they have days, weeks and bursts, so that no model of them is behind
this. A window slides by quarters of its length, and its count is compared with a fixed limit. The limit must hold in
the quietest window of a usual week; nothing is promised about false alarms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

PARTS = 4
"""Quarters of a window, by which it slides."""


def find_window(
    counts: Sequence[int], limit: int, *, direction: Literal["drop", "rise"] = "drop", beyond: bool = True
) -> int | None:
    """Return the index of the last quarter of the first window beyond the limit, or None.

    Parameters
    ----------
    counts : sequence of int
        Of consecutive quarters of a window; the first window is that of the first four.
    limit : int
        Of the count of a window.
    direction : str
        A window is beyond the limit with fewer (``drop``) or with more (``rise``).
    beyond : bool
        With False the first window within the limit is found, by which an alarm is over.

    Examples
    --------
    >>> find_window([3, 3, 3, 3, 0, 0, 0, 0, 0], 5), find_window([0, 0, 0, 0, 3, 3], 5, beyond=False)
    (6, 5)
    """
    for last in range(PARTS - 1, len(counts)):
        n = sum(counts[last - PARTS + 1 : last + 1])
        if (n < limit if direction == "drop" else n > limit) == beyond:
            return last
    return None
