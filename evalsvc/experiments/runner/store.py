"""Database calls of a running experiment: claim, lease, record, extend leases. Nearly all take one round trip."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connections

from evalsvc.experiments.models import Config
from evalsvc.tenancy.scope import APP, SYSTEM, current_role

UNIT_COLUMNS = (
    "id, account_id, experiment_id, config_id, from_pos, to_pos, state, attempt, token, epoch, addition,"
    # By the database's clock: those of workers may differ.
    " coalesce(extract(epoch FROM clock_timestamp() - waiting_since), 0)::float8"
)
STAGE_COLUMNS = "id, unit_id, pos, token, output, latency_ms, input_tokens, output_tokens, cost"


@dataclass(frozen=True, slots=True)
class Unit:
    """A leased unit of work."""

    id: int
    account_id: int
    experiment_id: int
    config_id: int
    from_pos: int
    to_pos: int
    state: str
    attempt: int
    token: uuid.UUID
    epoch: int
    addition: int = 0
    waited_seconds: float = 0.0
    """How long its scores or outputs have waited for an endpoint."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of a worker's unit, to be recorded. `close` is `keep` or `release`, and applies to the lease."""

    unit: Unit
    outputs: Sequence[Mapping[str, Any]] = ()
    scores: Sequence[Mapping[str, Any]] = ()
    close: str = "release"


@dataclass(frozen=True, slots=True)
class RecordResult:
    """The result of a recording: the new positions, and the current state of the config."""

    accepted: list[int]
    config_epoch: int | None
    config_state: str | None
    watermark: int | None
    is_held: bool


def claim_units(
    *,
    limit: int,
    n_runners: int,
    lease_seconds: float,
    excluded_accounts: Sequence[int],
    blocked_configs: Sequence[int],
) -> list[Unit]:
    """Claim up to `limit` units over all accounts. The account with the fewest units in flight comes first.

    `n_runners` is how many queries all workers can have in flight: it sets how far a config may run ahead.
    """
    values = [limit, n_runners, lease_seconds, list(excluded_accounts), list(blocked_configs)]
    sql = f"SELECT {UNIT_COLUMNS} FROM claim_units(%s, %s, %s, %s::bigint[], %s::bigint[])"  # noqa: S608
    return [Unit(*row) for row in _rows(SYSTEM, sql, values)]


def lease_unit(*, account_id: int, config_id: int, size: int, lease_seconds: float) -> Unit | None:
    """Lease up to `size` positions of a running push config; None when there is nothing to lease now."""
    sql = f"SELECT {UNIT_COLUMNS} FROM lease_unit(%s, %s, %s, %s)"  # noqa: S608
    rows = _rows(APP, sql, [account_id, config_id, size, lease_seconds])
    return Unit(*rows[0]) if rows else None


def record_unit(
    *,
    account_id: int,
    unit_id: int,
    token: uuid.UUID,
    outputs: Sequence[Mapping[str, object]],
    scores: Sequence[Mapping[str, object]],
    close: str,
    lease_seconds: float,
) -> RecordResult:
    """Record outputs and scores of a unit in one transaction, and retain or release its lease, as `close` requires.

    Nothing is recorded if the lease has passed to another worker, nor for a position that already has an output.
    """
    values = [account_id, unit_id, token, _json(outputs), _json(scores), close, lease_seconds]
    sql = "SELECT * FROM record_unit(%s, %s, %s, %s::jsonb, %s::jsonb, %s, %s)"
    ((accepted_positions, epoch, state, watermark, is_held),) = _rows(APP, sql, values)
    return RecordResult(accepted_positions or [], epoch, state, watermark, is_held)


def record_units(outcomes: Sequence[Outcome], *, lease_seconds: float) -> list[RecordResult | None]:
    """Record outcomes of units of any accounts in one transaction; return a result for each, in their order.

    The result is None where another transaction has locked the config: nothing of that unit is recorded, and the
    caller may try it again alone.
    """
    items = [
        {
            "account": outcome.unit.account_id,
            "config": outcome.unit.config_id,
            "unit": outcome.unit.id,
            "token": outcome.unit.token,
            "outputs": outcome.outputs,
            "scores": outcome.scores,
            "close": outcome.close,
            "lease_seconds": lease_seconds,
        }
        for outcome in outcomes
    ]
    results: list[RecordResult | None] = [None] * len(outcomes)
    for index, accepted_positions, *fields in _rows(APP, "SELECT * FROM record_units(%s::jsonb)", [_json(items)]):
        results[index] = RecordResult(accepted_positions or [], *fields)
    return results


def open_added_units(*, account_id: int, experiment_id: int, number: int) -> None:
    """Open the units that score the existing outputs of all configs by the metrics of one addition.

    The configs are locked. A worker that records an output meanwhile waits for the lock, then opens the unit itself.
    """
    configs = "FROM experiments_config c WHERE c.account_id = %s AND c.experiment_id = %s"
    with connections[current_role()].cursor() as cursor:
        cursor.execute(f"SELECT c.id {configs} ORDER BY c.id FOR NO KEY UPDATE", [account_id, experiment_id])
        # A second statement, so that it sees outputs that were recorded while the first waited for the locks.
        sql = f"SELECT open_added_units(c, NULL, %s) {configs}"
        cursor.execute(sql, [number, account_id, experiment_id])


def open_retry_units(
    *,
    config: Config,
    number: int,
    what: str,
    error_types: Sequence[str] | None,
    metrics: Sequence[str],
    size: int,
) -> int:
    """Open the units that try a config's failures again; return how many failures there are. Call it under its lock."""
    sql = "SELECT open_retry_units(c, %s, %s, %s::text[], %s::text[], %s) FROM experiments_config c WHERE c.id = %s"
    errors = None if error_types is None else list(error_types)
    with connections[current_role()].cursor() as cursor:
        cursor.execute(sql, [number, what, errors, list(metrics), size, config.pk])
        return int(cursor.fetchone()[0])


def record_added_scores(
    *, account_id: int, config_id: int, number: int, scores: Sequence[Mapping[str, object]]
) -> list[int]:
    """Record the caller's scores for outputs of one config; return the positions that had no score before."""
    sql = "SELECT record_added_scores(%s, %s, %s, %s::jsonb)"
    ((accepted_positions,),) = _rows(APP, sql, [account_id, config_id, number, _json(scores)])
    return list(accepted_positions)


@dataclass(frozen=True, slots=True)
class HeldStage:
    """A question to a node: its answer, or the unit that requests it now."""

    id: int
    unit_id: int
    pos: int
    token: uuid.UUID
    output: Mapping[str, Any] | None
    latency_ms: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None


def take_stage(unit: Unit, *, key: str, pos: int) -> HeldStage | None:
    """Return the answer of a stage, or its lease, which belongs to the unit if it has the unit's token.

    None if the stage was deleted in the meantime; then call again.
    """
    sql = f"SELECT {STAGE_COLUMNS} FROM take_stage(%s, %s, %s, %s, %s, %s, %s)"  # noqa: S608
    values = [unit.account_id, unit.experiment_id, key, unit.config_id, pos, unit.id, unit.token]
    rows = _rows(APP, sql, values)
    if not rows:
        return None
    id, unit_id, asked_pos, token, output, *usage = rows[0]
    # As everywhere here, jsonb comes as text.
    return HeldStage(id, unit_id, asked_pos, token, None if output is None else orjson.loads(output), *usage)


def answer_stage(unit: Unit, *, id: int, output: Mapping[str, object], measured: Sequence[float | None]) -> bool:
    """Store the answer of a stage with latency, tokens in and out, and cost; False if the lease has passed on."""
    sql = "SELECT answer_stage(%s, %s, %s, %s::jsonb, %s::float8, %s::int, %s::int, %s::float8)"
    values = [unit.account_id, id, unit.token, orjson.dumps(output).decode(), *measured]
    return bool(_rows(APP, sql, values)[0][0])


def give_up_stage(unit: Unit, *, id: int) -> bool:
    """Give a stage back without an answer."""
    return bool(_rows(APP, "SELECT give_up_stage(%s, %s, %s)", [unit.account_id, id, unit.token])[0][0])


def read_epochs(config_ids: Sequence[int]) -> dict[int, int]:
    """Return the present epochs of configs, so that workers can tell whether their units are still wanted."""
    rows = _rows(SYSTEM, "SELECT id, epoch FROM experiments_config WHERE id = ANY (%s)", [list(config_ids)])
    return dict(rows)


def keep_alive(units: Sequence[Unit], *, lease_seconds: float) -> set[int]:
    """Extend leases; return the units that are still held."""
    # Locked in the order of ids, as in `record_units`: with another order the two could deadlock.
    sql = """
    WITH held AS (
      SELECT w.id FROM unnest(%s::bigint[], %s::uuid[]) AS h(id, token)
      JOIN experiments_workunit w ON w.id = h.id AND w.token = h.token ORDER BY w.id FOR NO KEY UPDATE OF w)
    UPDATE experiments_workunit u SET lease_expires_at = clock_timestamp() + %s * interval '1 second'
    FROM held WHERE u.id = held.id RETURNING u.id
    """
    values = [[unit.id for unit in units], [unit.token for unit in units], lease_seconds]
    return {id for (id,) in _rows(SYSTEM, sql, values)}


def has_claimable_work() -> bool:
    """Return whether any worker could be of use: a config that runs, or outputs that wait for scores."""
    sql = """
    SELECT EXISTS (
      SELECT 1 FROM experiments_config c JOIN experiments_experimentplan p ON p.experiment_id = c.experiment_id
      WHERE c.state = 'running' AND p.state = 'running' AND c.kind <> 'push' AND NOT account_rests(c.account_id)
    ) OR EXISTS (SELECT 1 FROM experiments_workunit u WHERE u.state = 'scoring' AND NOT account_rests(u.account_id))
    """
    return bool(_rows(SYSTEM, sql, [])[0][0])


def unsettled_experiments(*, most_ended: int = 50) -> list[tuple[int, int]]:
    """List (account, experiment) of running experiments, and of some that have ended but are not fully counted."""
    # Ended ones at random: otherwise those that stay uncounted could crowd the others out of the list.
    sql = """
    SELECT account_id, experiment_id FROM experiments_experimentplan WHERE state = 'running'
    UNION ALL (
      SELECT account_id, experiment_id FROM experiments_experimentplan
      WHERE NOT is_closed AND state <> 'draft' AND state <> 'running' ORDER BY random() LIMIT %s)
    """
    return _rows(SYSTEM, sql, [most_ended])


def _rows(alias: str, sql: str, values: Sequence[Any]) -> list[Any]:
    # psycopg directly: a Django cursor cannot request a prepared statement.
    wrapper = connections[alias]
    wrapper.ensure_connection()
    with wrapper.wrap_database_errors:
        return wrapper.connection.execute(sql, values, prepare=True).fetchall()


def _json(rows: Sequence[Mapping[str, Any]]) -> str:
    return orjson.dumps(list(rows)).decode()
