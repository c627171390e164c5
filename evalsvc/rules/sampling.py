"""Which spans a rule draws: all of a trace or a session, or none, by a hash."""

from __future__ import annotations

import hashlib

from evalsvc.rules.models import Rule


def draw_uniform(rule_id: int, unit: str) -> float:
    """Return a number in [0, 1) that is the same for the same unit, and independent between rules."""
    digest = hashlib.blake2b(unit.encode(), digest_size=8, key=str(rule_id).encode()).digest()
    return (int.from_bytes(digest) >> 11) / 2.0**53


def is_drawn(rule: Rule, trace_id: str, session_id: str | None) -> bool:
    """Return whether a rule draws a span of this trace and session, which it does with the probability `rate`."""
    unit = f"session:{session_id}" if rule.sample_by == Rule.Unit.SESSION and session_id else f"trace:{trace_id}"
    return draw_uniform(rule.pk, unit) < rule.rate
