"""Recount an experiment from its rows, and report where the running sums differ."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from django.db import connections

from evalsvc.evaluations.maintenance.sweep import Finding, recount_each
from evalsvc.experiments.inference.pairs.compare import hash_joins
from evalsvc.experiments.maintenance import recount_pairs
from evalsvc.experiments.models import ExperimentPlan
from evalsvc.tenancy.scope import current_role

SUMS_DIFFER = "the running sums differ from the scores"

# What each sum is, computed from scores alone. Scopes follow the config's watermark and the place it is fresh from.
AGGREGATES = """
WITH added AS (
  SELECT c.id AS config_id, d.number, m.name, coalesce(k.watermark, 0) AS watermark
  FROM experiments_addition d CROSS JOIN LATERAL unnest(d.names) AS m(name)
  JOIN experiments_config c ON c.experiment_id = d.experiment_id
  LEFT JOIN experiments_additionmark k ON k.config_id = c.id AND k.number = d.number
  WHERE d.experiment_id = %(experiment)s
), scoped AS (
  SELECT s.*, scope.name AS scope FROM experiments_score s JOIN experiments_config c ON c.id = s.config_id
  LEFT JOIN added a ON a.config_id = s.config_id AND a.name = s.metric
  CROSS JOIN LATERAL (SELECT coalesce(a.watermark, c.watermark) AS reached) r
  CROSS JOIN LATERAL (VALUES
    ('all', true), ('seen', s.pos < r.reached AND s.pos < c.fresh_from),
    ('prefix', s.pos < r.reached AND s.pos >= c.fresh_from)) AS scope(name, applies)
  WHERE c.experiment_id = %(experiment)s AND scope.applies
), columns AS (
  SELECT config_id, scope, array_agg(metric) AS metrics, array_agg(value) AS numbers,
    array_agg(denominator) AS denominators, array_agg(error_code) AS errors
  FROM scoped GROUP BY config_id, scope, metric
), counted AS (
  SELECT g.config_id, g.scope, t.*, f.n_failed, u.n_undecided FROM columns g
  CROSS JOIN LATERAL sums_of_scores(g.metrics, g.numbers, g.denominators, g.errors) t
  CROSS JOIN LATERAL count_failures(g.metrics, g.errors) f
  CROSS JOIN LATERAL count_undecided(g.metrics, g.errors) u
), stored AS (
  SELECT a.* FROM experiments_aggregate a JOIN experiments_config c ON c.id = a.config_id
  WHERE c.experiment_id = %(experiment)s
)
SELECT coalesce(s.config_id, t.config_id)::text, coalesce(s.metric, t.metric) || ' ' || coalesce(s.scope, t.scope),
  ARRAY[s.n, s.n_error, s.n_failed, s.n_undecided, s.n_na, s.total, s.squares, s.den_total, s.den_squares,
    s."cross", s.lowest, s.highest]::float8[],
  ARRAY[t.n, t.n_error, t.n_failed, t.n_undecided, t.n_na, t.total, t.squares, t.den_total, t.den_squares,
    t."cross", t.lowest, t.highest]::float8[]
FROM stored s FULL JOIN counted t ON t.config_id = s.config_id AND t.metric = s.metric AND t.scope = s.scope
"""
# Each query checks one invariant and lists the configs (or rows) that violate it; none should return a row.
CHECKS = {
    "the counters differ from the outputs": """
        SELECT c.id FROM experiments_config c LEFT JOIN LATERAL (
          SELECT count(*) FILTER (WHERE o.status = 'ok') AS n_ok, count(*) FILTER (WHERE o.status <> 'ok') AS n_error,
            count(o.reused_from) AS n_reused FROM experiments_output o WHERE o.config_id = c.id) o ON true
        WHERE c.experiment_id = %(experiment)s
          AND (c.n_ok, c.n_error, c.n_reused) <> (o.n_ok, o.n_error, o.n_reused)""",
    "the queries of a pipeline's nodes differ from its outputs": """
        SELECT c.id FROM experiments_config c CROSS JOIN LATERAL (
          SELECT coalesce(sum((o.stages #>> '{paid,n_asked}')::bigint), 0) AS n_asked,
            coalesce(sum((o.stages #>> '{paid,n_saved}')::bigint), 0) AS n_saved
          FROM experiments_output o WHERE o.config_id = c.id) o
        WHERE c.experiment_id = %(experiment)s AND (c.n_asked, c.n_saved) <> (o.n_asked, o.n_saved)""",
    "a stage was paid for by more than one output": """
        SELECT min(o.config_id) FROM experiments_output o
        CROSS JOIN LATERAL (
          SELECT o.stages AS told UNION ALL SELECT jsonb_array_elements(o.stages -> 'samples')) AS t
        CROSS JOIN LATERAL (VALUES (t.told -> 'integrated'), (t.told -> 'isolated')) AS m(nodes)
        CROSS JOIN LATERAL jsonb_each(coalesce(m.nodes, '{}')) AS n(name, trace)
        WHERE o.experiment_id = %(experiment)s AND n.trace ->> 'stage_id' IS NOT NULL
          AND n.trace ->> 'reused_from' IS NULL
        GROUP BY n.trace ->> 'stage_id' HAVING count(*) > 1""",
    "an output rests on a stage that is not there": """
        SELECT o.config_id FROM experiments_output o
        CROSS JOIN LATERAL (
          SELECT o.stages AS told UNION ALL SELECT jsonb_array_elements(o.stages -> 'samples')) AS t
        CROSS JOIN LATERAL (VALUES (t.told -> 'integrated'), (t.told -> 'isolated')) AS m(nodes)
        CROSS JOIN LATERAL jsonb_each(coalesce(m.nodes, '{}')) AS n(name, trace)
        LEFT JOIN experiments_stageoutput s ON s.id = (n.trace ->> 'stage_id')::bigint
        WHERE o.experiment_id = %(experiment)s AND n.trace ->> 'stage_id' IS NOT NULL AND s.output IS NULL""",
    "an example below the watermark has no output": """
        SELECT c.id FROM experiments_config c WHERE c.experiment_id = %(experiment)s AND c.watermark <> (
          SELECT count(*) FROM experiments_output o WHERE o.config_id = c.id AND o.pos < c.watermark)""",
    "the watermark lags behind finished examples": """
        SELECT c.id FROM experiments_config c JOIN experiments_output o ON o.config_id = c.id AND o.pos = c.watermark
        JOIN experiments_experimentplan p ON p.experiment_id = c.experiment_id
          -- What is confirmed lies beyond all watermarks.
          AND o.pos < coalesce(p."limit", p.n_examples) - coalesce(p.confirm, 0)
        WHERE c.experiment_id = %(experiment)s AND o.scored""",
    "an output has not one score for each metric": """
        SELECT o.config_id FROM experiments_output o JOIN experiments_experimentplan p USING (experiment_id)
        CROSS JOIN LATERAL (SELECT array_agg(m.row ->> 'name') AS names FROM jsonb_array_elements(p.metrics) AS m(row)
          WHERE coalesce((m.row ->> 'addition')::int, 0) = 0) m
        WHERE o.experiment_id = %(experiment)s AND o.scored AND cardinality(m.names) <> (
          SELECT count(*) FROM experiments_score s
          WHERE s.config_id = o.config_id AND s.pos = o.pos AND s.metric = ANY (m.names))""",
    "an output has scores of some and not all metrics that were added together": """
        SELECT s.config_id FROM experiments_addition d JOIN experiments_score s USING (experiment_id)
        WHERE d.experiment_id = %(experiment)s AND s.metric = ANY (d.names)
        GROUP BY s.config_id, s.pos, d.number, d.names HAVING count(*) <> cardinality(d.names)""",
    "an output has neither added scores nor a unit that waits for them": """
        SELECT o.config_id FROM experiments_addition d JOIN experiments_output o USING (experiment_id)
        JOIN experiments_config c ON c.id = o.config_id AND c.state <> 'deleted'
        WHERE d.experiment_id = %(experiment)s AND (NOT d.by_caller OR o.status <> 'ok') AND NOT EXISTS (
          SELECT 1 FROM experiments_score s
          WHERE s.config_id = o.config_id AND s.pos = o.pos AND s.metric = d.names[1]) AND NOT EXISTS (
          SELECT 1 FROM experiments_workunit u WHERE u.config_id = o.config_id AND u.addition = d.number
            AND u.from_pos <= o.pos AND u.to_pos > o.pos AND u.state = 'scoring')""",
    "the mark of added metrics lags behind their scores": """
        SELECT c.id FROM experiments_addition d JOIN experiments_config c USING (experiment_id)
        LEFT JOIN experiments_additionmark k ON k.config_id = c.id AND k.number = d.number
        JOIN experiments_score s
          ON s.config_id = c.id AND s.metric = d.names[1] AND s.pos = coalesce(k.watermark, 0)
        WHERE d.experiment_id = %(experiment)s""",
    "the score of an example is not the mean of its samples": """
        SELECT s.config_id FROM experiments_experimentplan p JOIN experiments_config c USING (experiment_id)
        JOIN experiments_score s ON s.config_id = c.id AND s.samples IS NOT NULL
        CROSS JOIN LATERAL (
          SELECT count(v.value) AS n, avg(v.value) AS mean, var_samp(v.value) AS within
          FROM jsonb_array_elements(CASE jsonb_typeof(s.samples) WHEN 'array' THEN s.samples ELSE '[]' END) AS x
          CROSS JOIN LATERAL (SELECT (x ->> 'value')::float8 AS value) v) m
        WHERE p.experiment_id = %(experiment)s AND p.n_samples > 1
          AND NOT EXISTS (SELECT 1 FROM jsonb_array_elements(p.metrics) AS d(row)
            WHERE d.row ->> 'name' = s.metric
              AND (d.row #>> '{trials,of}' <> 'mean' OR d.row #> '{trials,adaptive}' = 'true'))
          AND (
          s.n_scored <> m.n OR (s.value IS NULL) <> (m.n = 0) OR (s.within IS NULL) <> (m.n < 2)
          OR abs(s.value - m.mean) > 1e-9 * greatest(1, abs(m.mean))
          OR abs(s.within - m.within) > 1e-9 * greatest(1, m.within))""",
    "the score of an example is not what its trials make": """
        SELECT s.config_id FROM experiments_experimentplan p
        CROSS JOIN LATERAL (
          -- The mean of adaptive trials is of the first one, as pass^1 is.
          SELECT d.row ->> 'name' AS name,
            CASE d.row #>> '{trials,of}' WHEN 'pass@k' THEN 'pass@k' ELSE 'pass^k' END AS of,
            coalesce((d.row #>> '{trials,k}')::int, 1) AS k, d.row #> '{trials,adaptive}' = 'true' AS adaptive
          FROM jsonb_array_elements(p.metrics) AS d(row)
          WHERE d.row #>> '{trials,of}' <> 'mean' OR d.row #> '{trials,adaptive}' = 'true') t
        JOIN experiments_config c USING (experiment_id)
        JOIN experiments_score s ON s.config_id = c.id AND s.metric = t.name AND s.samples IS NOT NULL
        CROSS JOIN LATERAL (
          SELECT count(*) AS n_scored, count(*) FILTER (WHERE v.is_counted) AS n,
            coalesce(sum(CASE t.of WHEN 'pass^k' THEN v.value ELSE 1 - v.value END) FILTER (WHERE v.is_counted), 0)
              AS passed
          FROM (
            SELECT (x ->> 'value')::float8 AS value,
              t.adaptive IS NOT TRUE OR row_number() OVER (ORDER BY place) <= t.k AS is_counted
            FROM jsonb_array_elements(s.samples) WITH ORDINALITY AS samples(x, place)
            WHERE x ->> 'value' IS NOT NULL) v) m
        CROSS JOIN LATERAL (
          -- Of all choices of k trials, how many are of those that passed; for pass@k, of those that failed.
          SELECT CASE WHEN m.n < t.k THEN NULL WHEN m.passed < t.k THEN 0
            ELSE (SELECT exp(sum(ln((m.passed - j) / (m.n - j)))) FROM generate_series(0, t.k - 1) AS j)
            END AS share) h
        WHERE p.experiment_id = %(experiment)s AND (
          s.n_scored <> m.n_scored OR (s.value IS NULL) <> (h.share IS NULL)
          OR abs(s.value - CASE t.of WHEN 'pass^k' THEN h.share ELSE 1 - h.share END) > 1e-9)""",
    "an output has not as many samples as its plan asks for": """
        SELECT o.config_id FROM experiments_output o JOIN experiments_experimentplan p USING (experiment_id)
        WHERE o.experiment_id = %(experiment)s
          AND CASE jsonb_typeof(o.samples) WHEN 'array' THEN jsonb_array_length(o.samples) ELSE 1 END <> p.n_samples""",
    "a score of an evaluator is missing from the history, or is another there": """
        SELECT s.config_id FROM experiments_score s JOIN experiments_experimentplan p USING (experiment_id)
        CROSS JOIN LATERAL jsonb_array_elements(p.metrics) AS m(row)
        JOIN experiments_output o ON o.config_id = s.config_id AND o.pos = s.pos
        JOIN projects_experiment x ON x.id = s.experiment_id
        JOIN experiments_config c ON c.id = s.config_id
          -- What came in as a bundle is not of this account's histories.
          AND (x.imported_at IS NULL OR c.created_at > x.imported_at)
        LEFT JOIN evaluations_historyscore h
          ON h.account_id = s.account_id AND h.evaluator_id = m.row ->> 'evaluator_id'
          AND h.profile_name = m.row ->> 'profile_name' AND h.trial IN (false, true) AND h.id = o.id
        WHERE s.experiment_id = %(experiment)s AND m.row ->> 'name' = s.metric AND s.value IS NOT NULL AND CASE
          -- A verdict does not tell the score; older versions kept none for it.
          WHEN m.row ->> 'source' = 'pass' THEN h.passed IS NOT NULL AND h.passed <> (s.value = 1)
          WHEN m.row ->> 'source' = 'score' THEN
            (h.score, h.config_id, h.output_id) IS DISTINCT FROM (s.value, s.config_id, o.id)
          ELSE false END
          AND coalesce((m.row ->> 'in_history')::boolean, true)
          AND (h.id IS NOT NULL OR NOT EXISTS (
            SELECT 1 FROM evaluations_pruned p WHERE p.account_id = s.account_id AND o.id < p.scores_until))
          AND coalesce(h.revision = (m.row ->> 'profile_revision')::int, true)""",
    "a config is completed and has not seen every example": """
        SELECT c.id FROM experiments_config c JOIN experiments_experimentplan p USING (experiment_id)
        WHERE c.experiment_id = %(experiment)s AND c.state = 'completed'
          AND c.watermark <> coalesce(p."limit", p.n_examples) - coalesce(p.confirm, 0)""",
    "units overlap, or leave a gap below what has been given out": """
        SELECT c.id FROM experiments_config c LEFT JOIN LATERAL (
          SELECT coalesce(sum(u.to_pos - u.from_pos), 0) AS covered, coalesce(max(u.to_pos), 0) AS furthest
          FROM experiments_workunit u WHERE u.config_id = c.id AND u.addition = 0) u ON true
        WHERE c.experiment_id = %(experiment)s AND (u.covered <> c.claim_pos OR u.furthest <> c.claim_pos)""",
}
# Both tables are narrowed to the experiment, and neither tells the planner how many rows that are.
HASHED_CHECKS = {
    "an output belongs to another example than its position": """
        SELECT o.config_id FROM experiments_output o
        LEFT JOIN experiments_experimentitem i ON i.experiment_id = o.experiment_id AND i.pos = o.pos
        WHERE o.experiment_id = %(experiment)s AND i.example_id IS DISTINCT FROM o.example_id""",
}
MOST_OF_PAIRS = 100
NAMES = (
    "n",
    "n_error",
    "n_failed",
    "n_undecided",
    "n_na",
    "total",
    "squares",
    "den_total",
    "den_squares",
    "cross",
    "lowest",
    "highest",
)


def recount(experiment_id: int) -> list[dict[str, object]]:
    """Return every difference between the books of an experiment and its rows; run it in one snapshot."""
    differences: list[dict[str, Any]] = []
    with hash_joins() as cursor:
        for what, query in HASHED_CHECKS.items():
            cursor.execute(query, {"experiment": experiment_id})
            differences += [{"config_id": str(id), "what": what} for (id,) in cursor.fetchmany(20)]
    with connections[current_role()].cursor() as cursor:
        cursor.execute(AGGREGATES, {"experiment": experiment_id})
        for config_id, what, stored_sums, actual_sums in cursor.fetchall():
            differences += _differing(config_id, what, stored_sums, actual_sums)
        for what, query in CHECKS.items():
            cursor.execute(query, {"experiment": experiment_id})
            differences += [{"config_id": str(id), "what": what} for (id,) in cursor.fetchmany(20)]
    return differences + list(itertools.islice(recount_pairs.find_pair_differences(experiment_id), MOST_OF_PAIRS))


def recount_all(account_id: int | None = None) -> Iterator[tuple[str, Finding | None]]:
    """Recount every experiment of every account, or of one, as the system role; yield each check and what it found."""
    checks = (SUMS_DIFFER, *CHECKS, *HASHED_CHECKS, *recount_pairs.CHECKS)
    plans = ExperimentPlan.objects.all()
    if account_id is not None:
        plans = plans.filter(account_id=account_id)
    return recount_each(
        "experiment",
        plans,
        checks,
        lambda id: (row["what"] if row["what"] in checks else SUMS_DIFFER for row in recount(id)),
    )


def _differing(config_id: str, what: str, stored: list[Any], counted: list[Any]) -> list[dict[str, Any]]:
    differences = []
    for name, stored_value, other in zip(NAMES, stored, counted, strict=True):
        if not recount_pairs.is_same(stored_value, other):
            differences.append(
                {"config_id": config_id, "what": f"{what} {name}", "stored": stored_value, "counted": other}
            )
    return differences
