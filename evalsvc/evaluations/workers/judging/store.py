"""The round trips of the judge lane: claim, read, extend, postpone, finish. Each is one message for a whole batch."""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connections

from evalsvc.evaluations.database.round_trips import dump_jsonb
from evalsvc.judges.failures import RATE_LIMITED
from evalsvc.tenancy.scope import APP, SYSTEM

FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 2.0, 30.0
CLAIM = "SELECT * FROM claim_judging(%s, %s, %s, %s, %s::bigint[], %s::text[], %s::int[], %s)"
READ = "SELECT * FROM read_judging(%s::bigint[], %s::bigint[])"
EXTEND = "SELECT * FROM extend_judging(%s::bigint[], %s::int[], %s)"
POSTPONE = """
SELECT * FROM postpone_judging(
  %s::bigint[], %s::int[], %s::float8[], %s::float8[], %s::text[], %s::text[], %s)
"""
FINISH = "SELECT * FROM finish_judging(%s::jsonb)"
# For messages of earlier versions: a message could be sent for a request before a runner had claimed its evaluations.
FREE = """
UPDATE evaluations_evaluation SET lease_expires_at = clock_timestamp()
WHERE account_id = %(account)s AND request_id = %(request)s AND lane = 'judge' AND status = 'pending'
  AND id >= ids_from(%(request)s) AND id < ids_until(%(request)s) AND n_attempts <= %(attempts)s
RETURNING id
"""


class ClaimedEvaluation(NamedTuple):
    """An evaluation claimed by this runner, as returned by the database function `claim_judging`."""

    id: int
    account_id: int
    request_id: int
    position: int
    runs: str | None
    explain: str
    n_attempts: int
    n_sweeps: int
    connection: str


@dataclass(frozen=True, slots=True)
class SampleInputs:
    """The columns of a request that a sample is made of."""

    input: str | None
    output: str | None
    contexts: list[str] | None
    gold: str | None
    system_prompt: str | None
    extras: dict[str, Any] | None


class ClaimedInputs(NamedTuple):
    """What an evaluation is about."""

    settings: dict[str, Any]
    inputs: SampleInputs


class Reason(NamedTuple):
    """What an evaluation waits for: the code and the message of its last attempt, if they are its endpoint's."""

    code: str | None = None
    message: str | None = None


def claim_judging(
    *, limit: int, slots: int, lends: bool, held: Mapping[tuple[int, str], int]
) -> list[ClaimedEvaluation]:
    """Claim up to `limit` evaluations over all accounts; `held` is what is in flight by (account, connection).

    When it lends, only who has less than a fair share of `slots` gets any.
    """
    accounts, names = [account_id for account_id, _ in held], [name for _, name in held]
    lease_seconds = float(settings.WORK_LEASE_SECONDS)
    values = [limit, slots, lends, lease_seconds, accounts, names, list(held.values()), uuid.uuid4()]
    return [ClaimedEvaluation(*row) for row in rows(SYSTEM, CLAIM, values)]


def read_claimed(claimed: Sequence[ClaimedEvaluation]) -> dict[int, ClaimedInputs]:
    """Read the settings and inputs of claimed evaluations, by id; what has been deleted since is not in it.

    As the tenants' role, each account by itself. Inputs come once for all evaluations of a request.
    """
    records = rows(
        APP, READ, [[evaluation.account_id for evaluation in claimed], [evaluation.id for evaluation in claimed]]
    )
    request_of = {evaluation.id: evaluation.request_id for evaluation in claimed}
    inputs = {request_of[id]: SampleInputs(*columns) for id, _, is_first, *columns in records if is_first}
    return {id: ClaimedInputs(profile_settings or {}, inputs[request_of[id]]) for id, profile_settings, *_ in records}


def extend(claimed: Sequence[ClaimedEvaluation]) -> set[int]:
    """Renew the leases of evaluations in progress; return the ids of those that this runner still owns."""
    return _set_leases(claimed, float(settings.WORK_LEASE_SECONDS))


def give_back(claimed: Sequence[ClaimedEvaluation]) -> None:
    """Release evaluations to other runners immediately; the attempt counts, because its calls are paid for."""
    _set_leases(claimed, 0.0)


def _set_leases(claimed: Sequence[ClaimedEvaluation], lease_seconds: float) -> set[int]:
    return {id for (id,) in rows(SYSTEM, EXTEND, [*_keys(claimed), lease_seconds])}


def postpone(
    claimed: Sequence[ClaimedEvaluation], waits: Sequence[float], reasons: Sequence[Reason] | None = None
) -> dict[int, bool]:
    """Postpone evaluations until their turn; return, for each that this runner still owns, whether it was postponed.

    Postponed evaluations stay pending and occupy no slot; a missed turn does not count as an attempt. The delay grows
    with each missed turn, and ends at the latest JUDGE_PATIENCE_SECONDS after the request was accepted. The result is
    False after that, and for a rate limit that lasts longer. An outage may end before its wait.
    """
    reasons = reasons or [Reason()] * len(claimed)
    delays = [_delay(evaluation, wait) for evaluation, wait in zip(claimed, waits, strict=True)]
    least = [wait if reason.code in (None, RATE_LIMITED) else 0.0 for wait, reason in zip(waits, reasons, strict=True)]
    texts = [reason.code for reason in reasons], [reason.message for reason in reasons]
    values = [*_keys(claimed), delays, least, *texts, float(settings.JUDGE_PATIENCE_SECONDS)]
    return dict(rows(SYSTEM, POSTPONE, values))


def _delay(one: ClaimedEvaluation, retry_after_seconds: float) -> float:
    backoff_seconds = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** min(one.n_sweeps, 10))
    # Those that were put off together do not come back together.
    return max(backoff_seconds, retry_after_seconds * random.uniform(1.0, 1.25))  # noqa: S311  # nosec B311 - not a secret


def finish_judging(items: Sequence[Mapping[str, object]]) -> set[tuple[int, int]]:
    """Write verdicts of requests of any accounts, all or none; return (request, position) of those that were written.

    Each item is {account, request, verdicts}. As the tenants' role, each account by itself.
    """
    records = rows(APP, FINISH, [dump_jsonb(items)])
    return {(request_id, position) for request_id, positions in records for position in positions}


def free(*, account_id: int, request_id: int, expected_attempts: int) -> None:
    """Let runners claim what waits for a judge in a request, unless it was claimed since `expected_attempts`."""
    values = {"account": account_id, "request": request_id, "attempts": expected_attempts}
    rows(SYSTEM, FREE, values)


def _keys(claimed: Sequence[ClaimedEvaluation]) -> tuple[list[int], list[int]]:
    return [evaluation.id for evaluation in claimed], [evaluation.n_attempts for evaluation in claimed]


def rows(alias: str, sql: str, values: Sequence[object] | Mapping[str, object]) -> list[Any]:
    """Return the rows that a role gets for one message, in binary. Raises Django's database errors."""
    wrapper = connections[alias]
    wrapper.ensure_connection()
    with wrapper.wrap_database_errors:
        return wrapper.connection.execute(sql, values, prepare=True, binary=True).fetchall()
