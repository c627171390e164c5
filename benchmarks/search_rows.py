"""A table of captured evaluations as a year of use would leave it, made inside the database."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from psycopg import sql

TABLES = ("evaluations_evaluation", "evaluations_evaluationrequest", "evaluations_evaluationtag")
# Where the shares of five accounts end; the first has most of the rows.
SHARES = [0.6, 0.8, 0.9, 0.96]
DRAW = """
CREATE TEMP TABLE drawn AS
SELECT i, accounts[1 + width_bucket(r_account, {shares})] AS account_id,
  (extract(epoch FROM kept_at - timestamptz '2026-01-01') * 1000)::bigint << 22 | i % 4096 AS id,
  CASE WHEN is_client THEN kept_at - r_late * interval '60 days' ELSE kept_at END AS created_at, kept_at, is_client,
  CASE WHEN r_place > 0.1 THEN 'app-' || floor(50 * r_app ^ 3) END AS app,
  CASE WHEN r_place <= 0.1 THEN 1000 + floor(40 * r_app ^ 2)::bigint END AS experiment_id,
  ('00000000-0000-4000-8000-' || lpad(floor(10 * r_project ^ 2)::text, 12, '0'))::uuid AS project_id,
  CASE WHEN r_dataset < 0.2 THEN 'dataset-' || floor(100 * r_dataset) END AS dataset_id,
  CASE WHEN r_log < 0.5 THEN 'log-' || i END AS log_id,
  CASE WHEN r_log < 0.3 THEN 'trace-' || i / 4 END AS trace_id,
  CASE WHEN r_tags < 0.3 THEN jsonb_build_object(
    'env', (ARRAY['prod', 'prod', 'prod', 'staging', 'dev'])[1 + floor(5 * r_env)], 'user', 'u' || floor(2000 * r_user)
  ) END AS tags
FROM (
  SELECT i, now() - interval '90 days' * (1 - i::float8 / {n}) AS kept_at, random() < 0.05 AS is_client, {accounts} AS accounts,
    random() AS r_account, random() AS r_late, random() AS r_place, random() AS r_app, random() AS r_project,
    random() AS r_dataset, random() AS r_log, random() AS r_tags, random() AS r_env, random() AS r_user
  FROM generate_series(1, {n}) i
) r
"""
REQUESTS = """
INSERT INTO evaluations_evaluationrequest (id, account_id, capture, strategy, fingerprint, project_id, app, experiment_id,
  input, output, contexts, tags, dataset_id, dataset_sample_id, log_id, trace_id, created_at, completed_at, purged)
SELECT id, account_id, 'all', 'none', i, project_id, app, experiment_id, repeat('What did the customer ask? ', 15),
  repeat('That is what it answered. ', 20), ARRAY[repeat('From the manual. ', 30)], tags, dataset_id, (i % 1000)::text,
  log_id, trace_id, created_at, kept_at, false
FROM drawn
"""
# Two evaluators judge each request.
EVALUATIONS = """
INSERT INTO evaluations_evaluation (id, account_id, request_id, position, evaluator_id, family, profile_id, profile_name,
  profile_revision, explain_strategy, status, score, passed, text_output, explanation, spans, extra, duration_us, captured,
  in_history, n_attempts, n_sweeps, evaluation_type, details, favorite, feedback, project_id, app, experiment_id,
  dataset_id, log_id, trace_id, created_at, completed_at)
SELECT id + position, account_id, id, position,
  CASE WHEN is_client THEN 'external:mine-' || evaluator % 5 ELSE 'evaluator-' || evaluator END,
  CASE WHEN NOT is_client THEN 'family-' || evaluator % 8 END,
  CASE WHEN NOT is_client THEN ('00000000-0000-4000-9000-' || lpad(profile::text, 12, '0'))::uuid END, 'profile-' || profile,
  CASE WHEN NOT is_client THEN 1 END, 'always', 'success', CASE WHEN r_pass < 0.05 THEN 0 ELSE 1 END, r_pass >= 0.05,
  NULL, repeat('Each claim is borne out by the context. ', 4), '[[0, 7]]', '{"n_claims": 3}', 216000, true,
  true, 0, 0, CASE WHEN is_client THEN 'client_evaluation' ELSE 'patronus_evaluation' END,
  CASE WHEN is_client THEN '{"metric_name": "mine"}'::jsonb END, r_mark < 0.005,
  CASE WHEN r_mark > 0.99 THEN CASE WHEN r_mark > 0.995 THEN 'positive' ELSE 'negative' END END,
  project_id, app, experiment_id, dataset_id, log_id, trace_id, created_at, kept_at
FROM (
  SELECT d.*, p AS position, floor(20 * random() ^ 2)::int AS evaluator, floor(30 * random() ^ 2)::int AS profile,
    random() AS r_pass, random() AS r_mark
  FROM drawn d, generate_series(0, 1) p
) r
"""

TAGS = """
INSERT INTO evaluations_evaluationtag (account_id, evaluation_id, digest, created_at)
SELECT account_id, id + p, tag_digest(account_id, tag.key, tag.value), created_at
FROM drawn, jsonb_each_text(tags) tag, generate_series(0, 1) p
"""
# Whom the evaluators and profiles are of: searches by family and by profile id go by that.
CATALOG = (
    """
INSERT INTO catalog_evaluator (id, evaluator_id, base, family, name, description, aliases, is_enabled, deprecated)
SELECT gen_random_uuid(), 'evaluator-' || i, 'none', 'family-' || i % 8, 'searched', '', '{}', true, false
FROM generate_series(0, 19) i""",
    """
INSERT INTO catalog_profile (id, family, name, n_revisions)
SELECT ('00000000-0000-4000-9000-' || lpad(i::text, 12, '0'))::uuid, 'family-0', 'profile-' || i, 0
FROM generate_series(0, 29) i""",
)


def fill(account_ids: Sequence[int], n_rows: int) -> None:
    """Fill the empty tables with so many evaluations, index them, and let the planner know. Speaks as the owner."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        indexes = _drop_indexes(cursor)
        say(f"{n_rows} evaluations: filling")
        cursor.execute("SELECT setseed(0.5)")
        values = {"n": n_rows // 2, "accounts": list(account_ids), "shares": SHARES}
        cursor.execute(sql.SQL(DRAW).format(**{name: sql.Literal(value) for name, value in values.items()}))
        cursor.execute(REQUESTS)
        cursor.execute(EVALUATIONS)
        cursor.execute(TAGS)
        for statement in CATALOG:
            cursor.execute(statement)
        cursor.execute("DROP TABLE drawn")
        say(f"{n_rows} evaluations: {len(indexes)} indexes")
        for definition in indexes:
            cursor.execute(definition)
        for table in TABLES:
            cursor.execute(sql.SQL("VACUUM ANALYZE {}").format(sql.Identifier(table)))


def _drop_indexes(cursor: Any) -> list[str]:
    cursor.execute(
        "SELECT indexname, replace(indexdef, ' ON ONLY ', ' ON ') FROM pg_indexes WHERE tablename = ANY(%s) AND indexname LIKE 'ix%%'",
        [list(TABLES)],
    )
    indexes = cursor.fetchall()
    for name, _ in indexes:
        cursor.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
    return [definition for _, definition in indexes]


def say(text: str) -> None:
    """Tell the progress on stderr."""
    print(text, file=sys.stderr, flush=True)
