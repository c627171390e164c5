"""Ids for what has none of its own, in the order of time."""

from __future__ import annotations

import secrets
import time
import uuid


def new_uuid() -> uuid.UUID:
    """Return a UUID of version 7 (RFC 9562): a timestamp in milliseconds followed by 74 random bits.

    Consecutive ids are adjacent in an index. A random id would fall on a different page each time, and that page would
    have to be rewritten.
    """
    chance = secrets.randbits(74)
    milliseconds = time.time_ns() // 1_000_000
    return uuid.UUID(int=milliseconds << 80 | 0x7 << 76 | (chance >> 62) << 64 | 0b10 << 62 | chance & (1 << 62) - 1)
