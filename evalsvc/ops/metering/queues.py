"""Number and age of waiting evaluations, and running experiments, read from the database.

The same for all processes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db import connections, transaction

from evalsvc.tenancy.scope import SYSTEM
from evaluators.base import Lane

LANES = tuple(lane.value for lane in Lane)
UNIT_STATES = ("open", "leased", "scoring")
TIMEOUT_MS = 2000
# Each reads a partial index of what is not over.
WAITING = """
SELECT lane, count(*), extract(epoch FROM clock_timestamp() - min(created_at))
FROM evaluations_evaluation WHERE status = 'pending' GROUP BY lane
"""
UNITS = "SELECT state, count(*) FROM experiments_workunit WHERE state <> 'done' GROUP BY state"
RUNNING = "SELECT count(*) FROM experiments_experimentplan WHERE state = 'running'"


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits: how many evaluations of each lane, the age of the oldest in seconds; units by state."""

    depth: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LANES, 0))
    oldest: dict[str, float] = field(default_factory=lambda: dict.fromkeys(LANES, 0.0))
    units: dict[str, int] = field(default_factory=lambda: dict.fromkeys(UNIT_STATES, 0))
    n_running: int = 0


def read_backlog() -> Backlog:
    """Read the backlog within two seconds. Raises DatabaseError."""
    with transaction.atomic(using=SYSTEM), connections[SYSTEM].cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(TIMEOUT_MS)])
        cursor.execute(RUNNING)
        backlog = Backlog(n_running=cursor.fetchone()[0])
        cursor.execute(WAITING)
        for lane, n, seconds in cursor.fetchall():
            if lane in backlog.depth:
                backlog.depth[lane], backlog.oldest[lane] = n, max(0.0, float(seconds))
        cursor.execute(UNITS)
        backlog.units.update((state, n) for state, n in cursor.fetchall() if state in UNIT_STATES)
    return backlog
