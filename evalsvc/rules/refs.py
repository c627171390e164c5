"""Stored spans by what sampling and paging need of them, and the portions in which they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

PORTION, PORTION_BYTES = 100, 4 * 1024 * 1024
"""Spans that are read at once."""
FIELDS = ("id", "trace_id", "span_id", "conversation_id", "started_at", "n_bytes")


@dataclass(frozen=True, slots=True)
class SpanRef:
    """A span without its texts."""

    id: int
    trace_id: str
    span_id: str
    conversation_id: str | None
    started_at: datetime
    n_bytes: int


def cut_portions(refs: Sequence[SpanRef]) -> list[list[SpanRef]]:
    """Return spans in portions that are read at once."""
    portions: list[list[SpanRef]] = []
    n_bytes = 0
    for ref in refs:
        if not portions or len(portions[-1]) >= PORTION or n_bytes + ref.n_bytes > PORTION_BYTES:
            portions.append([])
            n_bytes = 0
        portions[-1].append(ref)
        n_bytes += ref.n_bytes
    return portions
