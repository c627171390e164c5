"""Histories of zeros and ones, counted without floating point.

A thousand doubles are counted here in a few passes over bytes. NumPy's passes over more than 500 elements each give up
the interpreter's lock; in a busy server every one of them lets another thread in, which costs more than the pass.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from evalsvc.stats.basics.checks import FloatArray

# A double 1.0 is 3f f0 followed by six zero bytes; 0.0 is eight zero bytes.
_TOP, _SECOND, _WIDTH = 0x3F, 0xF0, 8


@dataclass(frozen=True, slots=True)
class Bits:
    """A row of n zeros and ones: how many ones, how many neighbouring pairs of ones, and the two ends."""

    n: int
    ones: int
    pairs: int
    first: int
    last: int

    @property
    def low(self) -> float:
        """Return the lowest score."""
        return 0.0 if self.ones < self.n else 1.0

    @property
    def high(self) -> float:
        """Return the highest score."""
        return 1.0 if self.ones else 0.0

    @property
    def autocorrelation(self) -> float:
        """Return the lag-1 autocorrelation; the row must contain both values.

        With p the proportion of ones it is the sum of (x_i - p)(x_{i+1} - p) over n·p·(1 - p), expanded to integers.
        """
        n, k = self.n, self.ones
        crossed = n * n * self.pairs - n * k * (2 * k - self.first - self.last) + (n - 1) * k * k
        return crossed / (n * k * (n - k))


def count_bits(row: FloatArray) -> Bits | None:
    """Return a row of doubles as counts when each of them is exactly 0.0 or 1.0; None otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> count_bits(np.array([1.0, 1.0, 0.0, 1.0]))
    Bits(n=4, ones=3, pairs=1, first=1, last=1)
    >>> count_bits(np.array([1.0, 0.5])) is None
    True
    """
    if sys.byteorder != "little" or not row.size:
        return None
    data = row.tobytes()
    top, second = data[_WIDTH - 1 :: _WIDTH], data[_WIDTH - 2 :: _WIDTH]
    ones = top.count(_TOP)
    if data.count(0) != len(data) - 2 * ones or top.replace(b"\x3f", b"\xf0") != second:
        return None
    number = int.from_bytes(top, "little")
    pairs = (number & (number >> _WIDTH)).bit_count() // _TOP.bit_count()
    return Bits(row.size, ones, pairs, int(top[0] == _TOP), int(top[-1] == _TOP))
