"""Which spans are drawn: all of a trace or a session by one rate, or none, by a hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from msgspec import UNSET

from evalsvc.rules.bodies import Sampling, Stratum
from evalsvc.rules.candidates import CandidateSpan, is_fit


def draw_uniform(key: int, unit: str) -> float:
    """Return a number in [0, 1) that is the same for the same unit, and independent between keys, such as rules."""
    digest = hashlib.blake2b(unit.encode(), digest_size=8, key=str(key).encode()).digest()
    return (int.from_bytes(digest) >> 11) / 2.0**53


def may_be_drawn(key: int, sampling: Sampling, trace_id: str, session_id: str | None) -> bool:
    """Return whether a span of this trace and session would be drawn by the largest rate: the others are not read."""
    rates = [sampling.rate, *(stratum.rate for stratum in _list_strata(sampling))]
    return _draw(key, sampling, trace_id, session_id) < max(rates)


def draw_spans(key: int, sampling: Sampling, candidates: Iterable[CandidateSpan]) -> list[CandidateSpan]:
    """Return the spans that are drawn, each with its probability."""
    rated = (replace(candidate, probability=find_rate(sampling, candidate)) for candidate in candidates)
    return [
        candidate
        for candidate in rated
        if _draw(key, sampling, candidate.span.trace_id, candidate.span.conversation_id) < candidate.probability
    ]


def find_rate(sampling: Sampling, candidate: CandidateSpan) -> float:
    """Return the rate of the first stratum that a span fits, or else that of the rule."""
    fitting = (stratum.rate for stratum in _list_strata(sampling) if is_fit(stratum.filter, candidate))
    return next(fitting, sampling.rate)


def _list_strata(sampling: Sampling) -> Sequence[Stratum]:
    return () if sampling.strata is UNSET else sampling.strata


def _draw(key: int, sampling: Sampling, trace_id: str, session_id: str | None) -> float:
    unit = f"session:{session_id}" if sampling.by == "session" and session_id else f"trace:{trace_id}"
    return draw_uniform(key, unit)
