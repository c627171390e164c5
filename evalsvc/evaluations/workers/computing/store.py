"""The round trips of the cpu lane that it does not share with the judge lane."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import itemgetter

from django.conf import settings

from evalsvc.evaluations.workers.judging.store import ClaimedEvaluation, rows
from evalsvc.tenancy.scope import SYSTEM

CLAIM = "SELECT * FROM claim_cpu_lane(%s, %s, %s::bigint[])"
RELEASE = "SELECT release_computing(%s::bigint[], %s::int[], %s)"


def claim_computing(*, limit: int, without: Collection[int] = ()) -> list[ClaimedEvaluation]:
    """Claim up to `limit` evaluations of all accounts but some, in the order in which it is their turn."""
    # It is not renewed while one is computed, and on a busy machine a second of CPU time takes longer than one.
    lease_seconds = float(settings.WORK_LEASE_SECONDS + 2 * settings.COMPUTE_SECONDS)
    claimed_rows = rows(SYSTEM, CLAIM, [limit, lease_seconds, list(without)])
    return [ClaimedEvaluation(*columns) for *columns, _ in sorted(claimed_rows, key=itemgetter(-1))]


def release(held: Sequence[tuple[int, int]], *, begun: bool) -> None:
    """Release these (id, attempt) pairs to other processes at once; what was not begun counts as no attempt."""
    rows(SYSTEM, RELEASE, [[id for id, _ in held], [n for _, n in held], begun])
