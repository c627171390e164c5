"""Ids for what has none of its own, in the order of time."""

from __future__ import annotations

import secrets
import time
import uuid


def new_uuid() -> uuid.UUID:
    """Return a UUID of version 7 (RFC 9562): milliseconds, then 74 bits of chance.

    What comes next stands next in an index. A random one is on a page of its own, which is written anew for it.
    """
    chance = secrets.randbits(74)
    milliseconds = time.time_ns() // 1_000_000
    return uuid.UUID(int=milliseconds << 80 | 0x7 << 76 | (chance >> 62) << 64 | 0b10 << 62 | chance & (1 << 62) - 1)
