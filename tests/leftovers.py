"""What a test leaves behind, and its end: runners, sweeps and schedulers serve every account, also those of the next test.

Models are imported where they are used: pytest may read this before Django is set up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import orjson

made: list[int] = []
"""The accounts of this process that nobody has cleaned yet, oldest first."""
makers: dict[int, str] = {}
"""Which test has made each account."""
_spoiled: set[int] = set()

# One round trip. What is pending gets a verdict by the service's own function, so its books stay right.
END = """
WITH plans AS (
  UPDATE experiments_experimentplan SET state = 'idle' WHERE account_id = ANY(%(accounts)s) AND state = 'running'
), configs AS (
  UPDATE experiments_config SET state = 'stopped', stop_reason = 'user', epoch = epoch + 1
  WHERE account_id = ANY(%(accounts)s) AND state = 'running'
), compared AS (
  UPDATE comparisons_outputcomparison SET state = 'stopped', finished_at = now()
  WHERE account_id = ANY(%(accounts)s) AND state = 'running' RETURNING id
), unjudged AS (
  DELETE FROM comparisons_judgement j USING compared WHERE j.comparison_id = compared.id AND j.state = 'open'
), units AS (
  UPDATE experiments_workunit SET state = 'open' WHERE account_id = ANY(%(accounts)s) AND state = 'scoring'
)
SELECT finish_evaluations(
  account_id, request_id, jsonb_agg(jsonb_build_object('position', position) || %(verdict)s::jsonb))
FROM evaluations_evaluation WHERE account_id = ANY(%(accounts)s) AND status = 'pending' GROUP BY account_id, request_id
"""
# Counts by day last: triggers write them as evaluations go, and wrongly where a test has moved one to another month.
HOLD_EVALUATIONS = ("historyscore", "evaluationtag", "evaluation", "evaluationrequest", "rollupdelta", "dailyrollup")


def note(account_id: int) -> None:
    """Remember an account, and the test that makes it."""
    makers[account_id] = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    made.append(account_id)


def spoil(*account_ids: int) -> None:
    """Say that accounts hold what the service would not write: it goes with the test, before `verify` sees it."""
    _spoiled.update(account_ids)


def forget_in_redis() -> None:
    """Forget what earlier files have left in Redis: signs of life, runs of the clock, limits, orders to workers.

    What Celery knows of its queues stays: a server that runs on asks only once.
    """
    from evalsvc.infra.redis import get_shared_client

    redis = get_shared_client()
    if keys := [key for key in redis.scan_iter(count=1000) if not key.startswith(b"_kombu.")]:
        redis.delete(*keys)


def end_work() -> None:
    """End now what the accounts of this test have under way."""
    _patiently(made)


@contextmanager
def cleaned() -> Iterator[None]:
    """End what accounts that are made within the block have under way, and take away what was spoiled on purpose."""
    before = len(made)
    yield
    if accounts := made[before:]:
        del made[before:]
        _patiently(accounts)


def _patiently(accounts: Sequence[int]) -> None:
    from django.db import OperationalError, connections

    try:
        _clean(accounts)
    except OperationalError:
        # The test has killed the server to which this connection led.
        connections.close_all()
        _clean(accounts)


def _clean(accounts: Sequence[int]) -> None:
    from django.db import connections

    with connections["system"].cursor() as cursor:
        if spoiled := [account for account in accounts if account in _spoiled]:
            for table in HOLD_EVALUATIONS:
                cursor.execute(f"DELETE FROM evaluations_{table} WHERE account_id = ANY(%s)", [spoiled])
        cursor.execute(END, {"accounts": list(accounts), "verdict": _given_up()})


def _given_up() -> str:
    from evalsvc.evaluations.verdicts import Verdict, verdict_columns

    verdict = Verdict("error", error_code="worker_lost", error_message="The test that wanted it has ended.")
    return orjson.dumps(verdict_columns(verdict)).decode()


def wrong() -> list[str]:
    """Return what `verify` finds in the whole database, with the tests that have left it."""
    from django.db import connections

    from evalsvc.evaluations.maintenance.sweep import CHECKS, run_checks
    from evalsvc.reviews.checks import REVIEW_CHECKS

    connections.close_all()  # which may lead to a server that a test has killed
    checks = CHECKS | REVIEW_CHECKS
    found = [what for what, finding in run_checks(checks, None) if finding]
    return [f"{what}: {', '.join(sorted(_makers_of(checks[what])))}" for what in found]


def _makers_of(check: str) -> set[str]:
    from django.db import connections

    with connections["system"].cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT account_id FROM ({check}) AS found(id, account_id)")
        return {makers.get(account, f"account {account}") for (account,) in cursor.fetchall()}
