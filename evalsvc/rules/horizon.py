"""How far a rule may move its watermarks without missing a span or a log that is committed late.

The id of a row is its time of arrival, and is given before the transaction commits. A mark is a moment with the number
that the next transaction would have had: once all transactions below that number have ended, each row with an id of
before the moment is visible, or never will be.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connections

from evalsvc.tenancy.scope import current_role

MARGIN_SECONDS = 2
"""Between the time in an id and the start of its transaction, which PostgreSQL numbers at the first write."""
MAX_MARKS = 60
HORIZON = """
SELECT pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint,
  greatest(0, floor(extract(epoch FROM clock_timestamp() - %s * interval '1 second'
    - timestamptz '2026-01-01 00:00+00') * 1000))::bigint << 22
FROM pg_current_snapshot() s
"""
Mark = list[int]


@dataclass(frozen=True, slots=True)
class Horizon:
    """Up to which id all rows are visible, and the marks that are still ahead."""

    safe_id: int
    marks: list[Mark]


def read_horizon(watermark: int, marks: list[Mark]) -> Horizon:
    """Return how far spans and logs are complete, with a mark for now. Read it before they are read."""
    with connections[current_role()].cursor() as cursor:
        cursor.execute(HORIZON, [MARGIN_SECONDS])
        oldest, following, id = cursor.fetchone()
    safe_id = max([watermark, *(mark_id for number, mark_id in marks if number <= oldest)])
    ahead = [[number, mark_id] for number, mark_id in marks if mark_id > safe_id]
    if id > safe_id and (not ahead or id > ahead[-1][1]):
        # When many wait, a transaction has been open for long: fewer marks do.
        ahead = [*(ahead if len(ahead) < MAX_MARKS else ahead[::2]), [following, id]]
    return Horizon(safe_id, ahead)
