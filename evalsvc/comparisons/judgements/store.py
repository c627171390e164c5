"""Database calls for comparisons. Each judgement is recorded once, even if a worker is killed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from django.db import connections

from evalsvc.comparisons.judgements.schedule import Pick
from evalsvc.comparisons.models import Judgement, OutputComparison
from evalsvc.tenancy.scope import SYSTEM, current_role

# jsonb is written in one way only, so that equal outputs have equal hashes.
OPEN = """
WITH picks AS (
  SELECT * FROM unnest(%(first)s::bigint[], %(second)s::bigint[], %(pos)s::int[]) AS p(first_id, second_id, pos)
), outputs AS MATERIALIZED (
  -- Experiments order examples differently; positions are those of the comparison's experiment.
  SELECT o.config_id, i.pos, o.id, o.example_id, o.status,
    encode(sha256(convert_to(o.status || coalesce(o.output::text, ''), 'UTF8')), 'hex') AS hash
  FROM experiments_output o JOIN experiments_experimentitem i
    ON i.experiment_id = %(experiment)s AND i.example_id = o.example_id
  WHERE o.config_id = ANY (%(configs)s)
)
INSERT INTO comparisons_judgement (account_id, comparison_id, pos, example_id, first_id, second_id, first_output_id,
  second_output_id, first_hash, second_hash, state, error_code, error_message, judged_at)
SELECT %(account)s, %(comparison)s, p.pos, a.example_id, p.first_id, p.second_id, a.id, b.id, a.hash, b.hash,
  CASE WHEN f.failed THEN 'done' ELSE 'open' END, CASE WHEN f.failed THEN 'no_output' END,
  CASE WHEN f.failed THEN 'One of the two has no output for this example.' END,
  CASE WHEN f.failed THEN clock_timestamp() END
FROM picks p
JOIN outputs a ON a.config_id = p.first_id AND a.pos = p.pos
JOIN outputs b ON b.config_id = p.second_id AND b.pos = p.pos
CROSS JOIN LATERAL (SELECT a.status <> 'ok' OR b.status <> 'ok' AS failed) f
ON CONFLICT DO NOTHING
"""
TAKE_OVER = """
UPDATE comparisons_judgement j SET state = 'done', is_flipped = p.is_flipped, explanation = p.explanation,
  is_for_first_shown = p.is_for_first_shown, orders = p.orders, cost = p.cost, reused_from = p.id,
  judged_at = p.judged_at,
  winner = CASE WHEN p.winner = 'tie' OR p.first_hash = j.first_hash THEN p.winner
    WHEN p.winner = 'first' THEN 'second' ELSE 'first' END
FROM (
  SELECT DISTINCT ON (j.id) j.id AS target, p.* FROM comparisons_judgement j JOIN comparisons_judgement p
    ON p.comparison_id = %(previous)s AND p.winner IS NOT NULL AND p.example_id = j.example_id
    AND ((p.first_hash = j.first_hash AND p.second_hash = j.second_hash)
      OR (p.first_hash = j.second_hash AND p.second_hash = j.first_hash))
  WHERE j.comparison_id = %(comparison)s AND j.state = 'open' ORDER BY j.id, p.id
) p WHERE j.id = p.target AND j.state = 'open'
"""
BY_SCORES = """
WITH metrics AS (
  SELECT * FROM unnest(%(experiments)s::bigint[], %(metrics)s::text[]) AS m(experiment_id, metric)
), scores AS MATERIALIZED (
  SELECT o.config_id, o.example_id, s.value, s.error_code
  FROM experiments_output o JOIN metrics m USING (experiment_id)
  JOIN experiments_score s ON s.config_id = o.config_id AND s.metric = m.metric AND s.pos = o.pos
  WHERE o.config_id = ANY (%(configs)s)
)
UPDATE comparisons_judgement j SET state = 'done', judged_at = clock_timestamp(),
  winner = CASE WHEN a.value IS NULL OR b.value IS NULL THEN NULL
    WHEN abs(a.value - b.value) <= %(tie_width)s THEN 'tie'
    WHEN (a.value > b.value) = %(higher)s THEN 'first' ELSE 'second' END,
  error_code = CASE WHEN a.value IS NULL OR b.value IS NULL THEN 'no_score' END,
  error_message = CASE WHEN a.value IS NULL OR b.value IS NULL
    THEN 'A score is missing: ' || concat_ws(', ', a.error_code, b.error_code) || '.' END
FROM scores a, scores b
WHERE j.comparison_id = %(comparison)s AND j.state = 'open'
  AND a.config_id = j.first_id AND a.example_id = j.example_id
  AND b.config_id = j.second_id AND b.example_id = j.example_id
"""
GONE = """
UPDATE comparisons_judgement j SET state = 'done', judged_at = clock_timestamp(), error_code = 'no_output',
  error_message = 'One of the two outputs has been deleted.'
WHERE j.comparison_id = %(comparison)s AND j.state = 'open' AND (
  (j.first_id, j.example_id) NOT IN (
    SELECT o.config_id, o.example_id FROM experiments_output o WHERE o.config_id = ANY (%(configs)s))
  OR (j.second_id, j.example_id) NOT IN (
    SELECT o.config_id, o.example_id FROM experiments_output o WHERE o.config_id = ANY (%(configs)s)))
"""
CLAIM = """
WITH due AS (
  SELECT id FROM comparisons_judgement
  WHERE comparison_id = %(comparison)s AND state = 'open'
    AND (lease_expires_at IS NULL OR lease_expires_at < clock_timestamp())
  ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE comparisons_judgement j SET token = %(token)s, attempts = least(j.attempts + 1, 30000),
  lease_expires_at = clock_timestamp() + %(seconds)s * interval '1 second'
FROM due WHERE j.id = due.id RETURNING j.*
"""
RECORD = """
UPDATE comparisons_judgement j SET state = 'done', winner = r.winner, is_flipped = r.is_flipped,
  is_for_first_shown = r.is_for_first_shown, error_code = r.error_code, error_message = r.error_message,
  explanation = r.explanation, orders = r.orders, cost = r.cost, judged_at = clock_timestamp(),
  token = NULL, lease_expires_at = NULL
FROM jsonb_to_recordset(%(rows)s::jsonb) AS r(id bigint, winner text, is_flipped boolean, is_for_first_shown boolean,
  error_code text, error_message text, explanation text, orders jsonb, cost float8)
WHERE j.id = r.id AND j.comparison_id = %(comparison)s AND j.token = %(token)s AND j.state = 'open'
"""
# Run with the system role: running comparisons that have work to do.
DUE = """
SELECT c.account_id, c.id FROM comparisons_outputcomparison c
WHERE c.state = 'running' AND NOT account_rests(c.account_id) AND (
  NOT EXISTS (SELECT 1 FROM comparisons_judgement j WHERE j.comparison_id = c.id AND j.state = 'open')
  OR EXISTS (SELECT 1 FROM comparisons_judgement j WHERE j.comparison_id = c.id AND j.state = 'open'
    AND (j.lease_expires_at IS NULL OR j.lease_expires_at < clock_timestamp())
    -- People take their time: there is nothing to do before a pair has all its answers, or none can come any more.
    AND (c.judge ->> 'kind' <> 'people' OR NOT EXISTS (
      SELECT 1 FROM reviews_review r WHERE r.id = (c.judge ->> 'review')::uuid AND r.closed_at IS NULL) OR EXISTS (
      SELECT 1 FROM reviews_review r JOIN reviews_reviewitem i ON i.review_id = r.id AND i.n_answered >= r.n_answers
      WHERE r.id = (c.judge ->> 'review')::uuid AND i.example_pos = j.pos
        AND (i.config_id, i.other_config_id) IN ((j.first_id, j.second_id), (j.second_id, j.first_id))))))
ORDER BY random() LIMIT %(limit)s
"""


def open_judgements(comparison: OutputComparison, picks: Sequence[Pick]) -> int:
    """Open judgements that are not there yet; return how many. A pair without both outputs is an error at once."""
    first, second, pos = (list(column) for column in zip(*picks, strict=True)) if picks else ([], [], [])
    values: dict[str, Any] = {"first": first, "second": second, "pos": pos, "configs": comparison.configs}
    values |= {"account": comparison.account_id, "comparison": comparison.pk, "experiment": comparison.experiment_id}
    n = _run(OPEN, values)
    if comparison.previous_id is not None:
        _run(TAKE_OVER, {"previous": comparison.previous_id, "comparison": comparison.pk})
    return n


def judge_by_scores(comparison: OutputComparison) -> int:
    """Judge all pairs where both outputs have scores; return how many were judged."""
    judge = comparison.judge
    metrics: Mapping[str, str] = judge.get("metrics") or {str(comparison.experiment_id): judge["metric"]}
    values = {"higher": judge["higher_is_better"], "tie_width": judge["tie_width"], "configs": comparison.configs}
    values |= {"experiments": [int(id) for id in metrics], "metrics": list(metrics.values())}
    return _run(BY_SCORES, {**values, "comparison": comparison.pk})


def mark_deleted_outputs(comparison: OutputComparison) -> int:
    """Record an error for pairs with an output that has been deleted since."""
    return _run(GONE, {"comparison": comparison.pk, "configs": comparison.configs})


def claim(comparison_id: int, *, limit: int, seconds: float) -> tuple[uuid.UUID, list[Judgement]]:
    """Lease open judgements that have no active lease; return the lease's token and the judgements."""
    token = uuid.uuid4()
    values = {"comparison": comparison_id, "limit": limit, "seconds": seconds, "token": token}
    return token, sorted(Judgement.objects.raw(CLAIM, values), key=lambda row: row.pk)


def extend_lease(comparison_id: int, token: uuid.UUID, *, seconds: float) -> int:
    """Extend a lease."""
    sql = """UPDATE comparisons_judgement SET lease_expires_at = clock_timestamp() + %(seconds)s * interval '1 second'
    WHERE comparison_id = %(comparison)s AND token = %(token)s AND state = 'open'"""
    return _run(sql, {"comparison": comparison_id, "token": token, "seconds": seconds})


def count_holders(comparison_id: int) -> int:
    """Count who works on a comparison now."""
    leased_rows = Judgement.objects.filter(comparison_id=comparison_id, state=Judgement.State.OPEN, token__isnull=False)
    return leased_rows.extra(where=["lease_expires_at > clock_timestamp()"]).values("token").distinct().count()


def record_judgements(comparison_id: int, token: uuid.UUID, rows: Sequence[Mapping[str, Any]]) -> int:
    """Record the results, unless the lease has passed to another worker; return how many were recorded."""
    return _run(RECORD, {"comparison": comparison_id, "token": token, "rows": orjson.dumps(list(rows)).decode()})


def list_due_comparisons(limit: int = 100) -> list[tuple[int, int]]:
    """List the (account, comparison) IDs of running comparisons that have work to do."""
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(DUE, {"limit": limit})
        return cursor.fetchall()


def _run(sql: str, values: Mapping[str, Any]) -> int:
    with connections[current_role()].cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.rowcount)
