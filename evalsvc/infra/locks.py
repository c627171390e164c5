"""Advisory locks of the database: the only list of their names and keys, in the order in which they are acquired.

PostgreSQL distinguishes keys of one 64-bit number from keys of two 32-bit numbers. A key never changes: processes of
two releases run side by side during an upgrade, and functions in the database take some of these locks too. The key of
a new lock has two numbers: the next free class, and `hashint8` of the object's id.

Code that takes several locks takes them in the order of ALL, which prevents deadlocks. A lock is released at the end of
its transaction, or, if it belongs to a connection, when the connection is closed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.backends.utils import CursorWrapper


@dataclass(frozen=True, slots=True)
class AdvisoryLock:
    """One advisory lock for each object of a kind. `key` is SQL in which {} is replaced by the object's id.

    A kind with a single object uses the id 0.
    """

    name: str
    key: str
    what_for: str

    def take(self, cursor: CursorWrapper, object_id: int) -> None:
        """Acquire the lock, waiting for it if necessary. It is released at the end of the transaction."""
        cursor.execute(f"SELECT pg_advisory_xact_lock({self._key})", [object_id])

    def take_all(self, cursor: CursorWrapper, object_ids: Collection[int]) -> None:
        """Wait for the locks of several objects, in the order that everyone takes them in."""
        ids = sorted(set(object_ids))
        cursor.execute(
            f"SELECT pg_advisory_xact_lock({self.key.format('i.id')}) FROM unnest(%s::bigint[]) i(id)",  # noqa: S608
            [ids],
        )

    def try_take(self, cursor: CursorWrapper, object_id: int) -> bool:
        """Take the lock, if it is free, until the transaction ends. Return False if another transaction has it."""
        cursor.execute(f"SELECT pg_try_advisory_xact_lock({self._key})", [object_id])
        return bool(cursor.fetchone()[0])

    def try_hold(self, cursor: CursorWrapper, object_id: int) -> bool:
        """Acquire the lock, if it is free, until the connection is closed; for work with no transaction open."""
        cursor.execute(f"SELECT pg_try_advisory_lock({self._key})", [object_id])
        return bool(cursor.fetchone()[0])

    @property
    def _key(self) -> str:
        return self.key.format("%s::bigint")


# Both keys have one number, so they share one space. An experiment's id and a digest of 64 bits are hardly ever equal;
# if they are, two transactions only wait for each other.
EQUAL_CALLS = AdvisoryLock(
    "equal_calls", "{}", "Of equal evaluate calls, one looks for an earlier one and becomes it. By their digest."
)
PLANNER = AdvisoryLock("planner", "{}", "One planner at a time counts and decides in an experiment. By its id.")
PROMOTION = AdvisoryLock(
    "promotion",
    "hashtextextended('promote', {})",
    "Of two experiments that end at once, one sees what the other promotes. By account.",
)
CLIENT_SCORES = AdvisoryLock(
    "client_scores",
    "hashtextextended('keep_client_evaluations', {})",
    "One batch of scores made elsewhere is kept at a time. By account; in SQL too.",
)
BUDGET = AdvisoryLock(
    "budget",
    "1, hashint8({})",
    "Who leases units of an experiment counts its budget alone. By experiment; in SQL only.",
)
COMPUTING = AdvisoryLock(
    "computing", "hashtextextended('claim_computing', {})", "One claim of the cpu lane at a time. Taken in SQL only."
)
JUDGING = AdvisoryLock(
    "judging", "hashtextextended('claim_judging', {})", "One claim of work for judges at a time. Taken in SQL only."
)
PARTITIONS = AdvisoryLock(
    "partitions", "hashtextextended('make_partitions', {})", "Partitions are made or dropped by one. Taken in SQL only."
)
MIGRATIONS = AdvisoryLock("migrations", "3, hashint8({})", "One process migrates at a time.")
FUNCTIONS = AdvisoryLock("functions", "2, hashint8({})", "The database's functions are installed by one.")
EXPORT = AdvisoryLock("export", "4, hashint8({})", "One export of an account at a time. By account.")
EXPORT_PLACE = AdvisoryLock(
    "export_place", "5, hashint8({})", "So many exports of all accounts at a time. By the number of the place."
)
ROLLUPS = AdvisoryLock("rollups", "6, hashint8({})", "Notes are folded into days by one. Taken in SQL only.")
BENCHMARK = AdvisoryLock(
    "benchmark",
    "7, hashint8({})",
    "Of two gates on a benchmark, one sees which number the other has given a candidate. By a digest of its name.",
)
ALL = (
    EQUAL_CALLS, PLANNER, PROMOTION, CLIENT_SCORES, BUDGET, COMPUTING, JUDGING, PARTITIONS, MIGRATIONS, FUNCTIONS,
    EXPORT, EXPORT_PLACE, ROLLUPS, BENCHMARK,
)  # fmt: skip
