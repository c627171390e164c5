"""Stored spans and evaluations by what sampling and paging need of them, and the portions in which they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from evalsvc.tenancy.scope import id_at

PORTION, PORTION_BYTES = 100, 4 * 1024 * 1024
"""Spans or evaluations that are read at once."""
FIELDS = ("id", "trace_id", "span_id", "conversation_id", "started_at", "ended_at", "n_bytes")


@dataclass(frozen=True, slots=True)
class SpanRef:
    """A span without its texts."""

    id: int
    trace_id: str
    span_id: str
    conversation_id: str | None
    started_at: datetime
    ended_at: datetime
    n_bytes: int

    @property
    def key(self) -> tuple[str, str]:
        """Return how the row of a rule knows it."""
        return self.trace_id, self.span_id

    @property
    def moment(self) -> datetime:
        """Return its place in time, by which a backfill goes."""
        return self.started_at

    @property
    def arrived(self) -> int:
        """Return its place in the order of arrival, as an id."""
        return self.id

    def get_unit(self, by: str) -> str:
        """Return what is drawn with it."""
        return name_unit(by, self.trace_id, self.conversation_id)


@dataclass(frozen=True, slots=True)
class EvaluationRef:
    """A finished call of POST /v1/evaluate without its texts."""

    id: int
    moment: datetime
    n_bytes: int
    unit: str

    @property
    def key(self) -> tuple[str, str]:
        """Return how the row of a rule knows it."""
        return str(self.id), ""

    @property
    def ended_at(self) -> datetime:
        """Return when the last evaluator had answered, which is later after a retry."""
        return self.moment

    @property
    def arrived(self) -> int:
        """Return its place in the order in which calls were finished, as an id."""
        return id_at(self.moment)

    def get_unit(self, by: str) -> str:
        """Return what is drawn with it."""
        return self.unit


Ref = SpanRef | EvaluationRef
RefT = TypeVar("RefT", SpanRef, EvaluationRef, Ref)


def name_unit(by: str, trace_id: str, session_id: str | None) -> str:
    """Return what is drawn together: the spans of a trace, or of a session."""
    return f"session:{session_id}" if by == "session" and session_id else f"trace:{trace_id}"


def cut_portions(refs: Sequence[RefT]) -> list[list[RefT]]:
    """Return spans or evaluations in portions that are read at once."""
    portions: list[list[RefT]] = []
    n_bytes = 0
    for ref in refs:
        if not portions or len(portions[-1]) >= PORTION or n_bytes + ref.n_bytes > PORTION_BYTES:
            portions.append([])
            n_bytes = 0
        portions[-1].append(ref)
        n_bytes += ref.n_bytes
    return portions
