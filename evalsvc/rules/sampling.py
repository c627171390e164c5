"""Which spans are drawn: all of a trace or a session, or none, by a hash."""

from __future__ import annotations

import hashlib

from evalsvc.rules.bodies import Sampling


def draw_uniform(key: int, unit: str) -> float:
    """Return a number in [0, 1) that is the same for the same unit, and independent between keys, such as rules."""
    digest = hashlib.blake2b(unit.encode(), digest_size=8, key=str(key).encode()).digest()
    return (int.from_bytes(digest) >> 11) / 2.0**53


def is_drawn(key: int, sampling: Sampling, trace_id: str, session_id: str | None) -> bool:
    """Return whether a span of this trace and session is drawn, which it is with the probability `rate`."""
    unit = f"session:{session_id}" if sampling.by == "session" and session_id else f"trace:{trace_id}"
    return draw_uniform(key, unit) < sampling.rate
