"""How many evaluations a runner may claim, and for whom, by what it has in flight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from evalsvc.evaluations.workers.judging.store import ClaimedEvaluation

MOST_LENT = 3
"""With every slot taken, newcomers are lent up to so many times their number: no stuck endpoint can shut them out."""


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """A claim to make."""

    limit: int
    lends: bool
    held: dict[tuple[int, str], int]


def plan_claim(claimed: Iterable[ClaimedEvaluation], *, slots: int) -> ClaimPlan | None:
    """Return what to claim in addition to everything in flight; None when no account can be given anything.

    Below `slots` any account can receive the rest, those with the fewest in flight first. Above it, accounts and
    connections with less than their share in flight are lent slots. A slot in use is never taken back.
    """
    in_flight = Counter((evaluation.account_id, evaluation.connection) for evaluation in claimed)
    n = in_flight.total()
    if n < slots:
        return ClaimPlan(slots - n, False, dict(in_flight))
    limit = slots * (1 + MOST_LENT) - n
    return ClaimPlan(limit, True, dict(in_flight)) if limit > 0 else None
