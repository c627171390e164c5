"""The verdicts of a history that is all alike, counted as bytes.

Nearly every history is judged by one revision of its profile and comes from one source. Its thousand verdicts then are
one byte each, and what an interval needs of them is counted without NumPy: every pass of NumPy over more than 500
elements gives up the interpreter's lock, which in a busy server costs more than the pass.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

_WIDTH = 4
_JUDGED, _UNDECIDED = (bytes(byte for byte in range(256) if byte & 3 in codes) for codes in ((1, 2), (3,)))
# The two highest bytes of a double that is 1.0; the others are zero.
_TOP, _SECOND = 0x3F, 0xF0


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Judged rows of one source and revision, newest first: a byte each, the one that means pass, and how many pass.

    `judged` has which rows of the history they are, of shape (n,); None where they are all of it.
    """

    packed: bytes
    passed: int
    n_passed: int
    source: int
    judged: Any = None

    @property
    def row(self) -> Any:
        """Return the verdicts as doubles, 0 or 1, of shape (n,)."""
        doubles = bytearray(8 * len(self.packed))
        for place, byte in ((7, _TOP), (6, _SECOND)):
            table = bytearray(256)
            table[self.passed] = byte
            doubles[place::8] = self.packed.translate(table)
        return np.frombuffer(doubles)


def count_unjudged(facts: bytes) -> int:
    """Return how many rows of a history have no verdict, from its facts."""
    if sys.byteorder != "little":
        return int(np.count_nonzero(np.frombuffer(facts, np.int32) & 3 == 0))
    return len(facts[::_WIDTH].translate(None, _JUDGED))


def count_sent_undecided(facts: bytes) -> int:
    """Return how many rows of a history of scores made elsewhere are undecided, from its facts."""
    if sys.byteorder != "little":
        return int(np.count_nonzero(np.frombuffer(facts, np.int32) & 3 == 3))
    codes = facts[::_WIDTH]
    return len(codes) - len(codes.translate(None, _UNDECIDED))


def unpack_verdicts(facts: bytes) -> Verdicts | None:
    """Return the verdicts of a history from its facts, native int32 as `history_facts` in sql/functions.sql has them.

    None unless some row is judged, and all are of one source and revision.
    """
    if sys.byteorder != "little" or not facts:
        return None
    n, first = len(facts) // _WIDTH, facts[:_WIDTH]
    if any(facts[place::_WIDTH] != first[place : place + 1] * n for place in range(1, _WIDTH)):
        return None
    packed, same = facts[::_WIDTH], first[0] & ~3
    n_passed = packed.count(same | 2)
    n_judged, judged = n_passed + packed.count(same | 1), None
    if n_judged != n:
        if not n_judged or n_judged + packed.count(same) != n:
            return None
        judged = np.frombuffer(packed, np.uint8) != same
        packed = packed.translate(None, bytes((same,)))
    return Verdicts(packed, same | 2, n_passed, (first[0] >> 2) & 3, judged)
