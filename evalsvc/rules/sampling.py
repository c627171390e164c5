"""Which spans or evaluations are drawn: all of a trace or a session by one rate, or none, by a hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from msgspec import UNSET

from evalsvc.rules.bodies import Sampling, Stratum
from evalsvc.rules.candidates import CandidateSpan
from evalsvc.rules.evaluations import Candidate, CandidateEvaluation
from evalsvc.rules.refs import Ref

CandidateT = TypeVar("CandidateT", CandidateSpan, CandidateEvaluation, Candidate)


def draw_uniform(key: int, unit: str) -> float:
    """Return a number in [0, 1) that is the same for the same unit, and independent between keys, such as rules."""
    digest = hashlib.blake2b(unit.encode(), digest_size=8, key=str(key).encode()).digest()
    return (int.from_bytes(digest) >> 11) / 2.0**53


def may_be_drawn(key: int, sampling: Sampling, ref: Ref) -> bool:
    """Return whether a span or evaluation would be drawn by the highest rate: the others are not read."""
    return draw_uniform(key, ref.get_unit(sampling.by)) < find_highest_rate(sampling)


def find_highest_rate(sampling: Sampling) -> float:
    """Return the highest rate of a rule and its strata."""
    return max([sampling.rate, *(stratum.rate for stratum in _list_strata(sampling))])


def draw_candidates(key: int, sampling: Sampling, candidates: Iterable[CandidateT]) -> list[CandidateT]:
    """Return those that are drawn, each with its probability."""
    rated = (replace(candidate, probability=find_rate(sampling, candidate)) for candidate in candidates)
    return [row for row in rated if draw_uniform(key, row.get_unit(sampling.by)) < row.probability]


def find_rate(sampling: Sampling, candidate: Candidate) -> float:
    """Return the rate of the first stratum that a span or evaluation fits, or else that of the rule."""
    fitting = (stratum.rate for stratum in _list_strata(sampling) if candidate.is_fit(stratum.filter))
    return next(fitting, sampling.rate)


def _list_strata(sampling: Sampling) -> Sequence[Stratum]:
    return () if sampling.strata is UNSET else sampling.strata
