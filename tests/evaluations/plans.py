"""Tables filled with evaluations, and the plans of the statements of a search."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection, connections

from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller, new_caller

REQUESTS = """
INSERT INTO evaluations_evaluationrequest (account_id, capture, strategy, fingerprint, app, tags, log_id, purged, completed_at)
SELECT %s, 'all', 'none', i, 'app-' || i %% 20, CASE WHEN i %% 3 = 0 THEN
  jsonb_build_object('env', CASE WHEN i %% 2 = 0 THEN 'prod' ELSE 'dev' END, 'user', 'u' || i %% 1000) END, 'log-' || i, false, now()
FROM generate_series(1, %s) i
"""
EVALUATIONS = """
INSERT INTO evaluations_evaluation (account_id, request_id, position, evaluator_id, family, profile_id, profile_name,
  profile_revision, explain_strategy, status, score, passed, captured, in_history, n_attempts, n_sweeps, evaluation_type,
  favorite, feedback, project_id, app, experiment_id, dataset_id, log_id, trace_id, created_at)
SELECT account_id, id, 0, 'evaluator-' || i %% 20, 'family-' || i %% 20 %% 12, uuid_at(i %% 30), 'profile-' || i %% 30, 1, 'always',
  CASE WHEN i %% 130 = 1 THEN 'error' ELSE 'success' END, CASE WHEN i %% 130 <> 1 THEN (i %% 20 > 0)::int END,
  CASE WHEN i %% 130 <> 1 THEN i %% 20 > 0 END, true, false, 0, 0,
  CASE WHEN i %% 50 = 0 THEN 'client_evaluation' ELSE 'patronus_evaluation' END, i %% 200 = 0,
  CASE WHEN i %% 100 = 0 THEN 'negative' END, uuid_at(i %% 10), app, CASE WHEN i %% 10 = 0 THEN i %% 40 END,
  CASE WHEN i %% 5 = 0 THEN 'dataset-' || i %% 25 END, log_id, 'trace-' || i / 4, now() - i * interval '5 minutes'
FROM (SELECT q.*, fingerprint AS i FROM evaluations_evaluationrequest q WHERE account_id = %s) r
"""
TAGS = """
INSERT INTO evaluations_evaluationtag (account_id, evaluation_id, digest, created_at, history, score_id)
SELECT t.* FROM evaluations_evaluation e JOIN evaluations_evaluationrequest q ON q.id = e.request_id
CROSS JOIN LATERAL tags_of(e, q.tags) t WHERE e.account_id = %s
"""
# What the rows are of: evaluators of twelve families, eight of which have two, and profiles.
CATALOG = (
    """
INSERT INTO catalog_evaluator (id, account_id, evaluator_id, base, family, name, description, aliases, is_enabled, deprecated)
SELECT gen_random_uuid(), %s, 'evaluator-' || i, 'none', 'family-' || i %% 12, 'planned', '', '{}', true, false
FROM generate_series(0, 19) i""",
    """
INSERT INTO catalog_profile (id, account_id, family, name, n_revisions)
SELECT pg_temp.uuid_at(i), %s, 'family-0', 'profile-' || i, 0 FROM generate_series(0, 29) i""",
)
SCORES = """
INSERT INTO evaluations_historyscore (id, account_id, evaluator_id, profile_name, revision, score, passed, source, source_id,
  app, project_id, created_at)
SELECT id, account_id, evaluator_id, profile_name, 1, score, passed, 'evaluation', id, app, project_id, created_at
FROM evaluations_evaluation WHERE account_id = %s AND score IS NOT NULL
"""
UUID_AT = """
CREATE FUNCTION pg_temp.uuid_at(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$
"""
SOME_UUID = "00000000-0000-4000-8000-000000000003"
TABLES = (
    "evaluations_evaluation",
    "evaluations_evaluationtag",
    "evaluations_evaluationrequest",
    "evaluations_historyscore",
)
N_OLD, N_ROWS = 10, 12_000
PARTITIONS = "SELECT relid::regclass::text FROM unnest(%s::text[]) t, pg_partition_tree(t::regclass) WHERE isleaf"
ALL_BUT_ONE_TAG = """
DELETE FROM evaluations_evaluationtag WHERE account_id = %(account)s AND (evaluation_id, digest) <> (
  SELECT evaluation_id, digest FROM evaluations_evaluationtag WHERE account_id = %(account)s LIMIT 1)
"""
READ = "SELECT coalesce(sum(seq_tup_read), 0), coalesce(sum(idx_tup_fetch), 0) FROM pg_stat_xact_user_tables WHERE relname LIKE 'evaluations!_%%' ESCAPE '!'"
# The partition that has the rows; the others are empty, and nothing is quicker than to read nothing from end to end.
FILLED = re.compile(r"_until_\d{4}_\d{2}$")


@contextmanager
def function_uuid_at(cursor: Any) -> Iterator[None]:
    """Have the function that the statements call while rows are made."""
    cursor.execute(UUID_AT)
    yield
    cursor.execute("DROP FUNCTION pg_temp.uuid_at(bigint)")


def fill_evaluations(cursor: Any, account_id: int, n: int) -> None:
    """Add evaluations to an account that has none, with their tags and scores."""
    cursor.execute(REQUESTS, [account_id, n])
    for statement in (EVALUATIONS, TAGS, SCORES):
        cursor.execute(statement.replace("uuid_at(", "pg_temp.uuid_at("), [account_id])


def fill_catalog(cursor: Any, account_id: int) -> None:
    """Add the evaluators and profiles of the evaluations."""
    for statement in CATALOG:
        cursor.execute(statement, [account_id])


def remove_rows(cursor: Any, account_ids: Sequence[int]) -> None:
    """Delete what was added to these accounts."""
    for table in (*TABLES, "catalog_evaluator", "catalog_profile"):
        cursor.execute(f"DELETE FROM {table} WHERE account_id = ANY(%s)", [list(account_ids)])  # nosec B608
    cursor.execute(f"VACUUM ANALYZE {', '.join(TABLES)}")


@contextmanager
def filled_after_analyze(*, with_one_tag: bool = False) -> Iterator[Caller]:
    """Give an account its rows after the tables were analyzed with a few of a neighbour's, or with one tag of it."""
    callers = new_caller(name="planned"), new_caller(name="neighbour")
    account_ids = [caller.account.pk for caller in callers]
    with connections["owner"].cursor() as cursor, function_uuid_at(cursor):
        cursor.execute(PARTITIONS, [list(TABLES)])
        partitions = [partition for (partition,) in cursor.fetchall()]
        for partition in partitions:
            cursor.execute(f"ALTER TABLE {partition} SET (autovacuum_enabled = off)")
        fill_evaluations(cursor, account_ids[1], N_OLD)
        if with_one_tag:
            cursor.execute(ALL_BUT_ONE_TAG, {"account": account_ids[1]})
        cursor.execute(f"ANALYZE {', '.join(TABLES)}")
        fill_evaluations(cursor, account_ids[0], N_ROWS)
        fill_catalog(cursor, account_ids[0])
    # Plans of an earlier test may be of fresh statistics.
    connection.close()
    yield callers[0]
    with connections["owner"].cursor() as cursor:
        remove_rows(cursor, account_ids)
        for partition in partitions:
            cursor.execute(f"ALTER TABLE {partition} RESET (autovacuum_enabled)")
    connections["owner"].close()


def n_read(caller: Caller, act: Callable[[], object]) -> tuple[int, int]:
    """Return how many rows of our tables PostgreSQL reads from end to end, and by indexes."""
    with account_scope(caller.account.pk), connection.cursor() as cursor:
        cursor.execute(READ)
        before = cursor.fetchone()
        act()
        cursor.execute(READ)
        after = cursor.fetchone()
    return after[0] - before[0], after[1] - before[1]


def plans_of(
    caller: Caller, body: dict[str, Any], path: str = "/v1/evaluations/search"
) -> tuple[int, list[dict[str, Any]]]:
    """Return how many rows a search finds, and every node of the plans of its statements, each as it was executed."""
    nodes: list[dict[str, Any]] = []

    def explain(execute: Any, statement: Any, params: Any, many: bool, context: Any) -> Any:
        if "evaluations_" in str(statement):
            # By the same transaction: a search has settings of its own.
            with context["connection"].connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}", params)
                (plan,) = cursor.fetchone()
            nodes.extend(_flatten(plan))
        return execute(statement, params, many, context)

    with connection.execute_wrapper(explain):
        answer = caller.post(path, body)
    assert answer.status_code == 200, answer.content
    (rows,) = (value for name, value in answer.json().items() if name in ("evaluations", "results"))
    return len(rows), nodes


def _flatten(plan: Any) -> Iterator[dict[str, Any]]:
    waiting = [(json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]]
    while waiting:
        node = waiting.pop()
        waiting += node.get("Plans", [])
        if FILLED.search(node.get("Relation Name", "_until_2026_01")):
            names = {name: FILLED.sub("", node[name]) for name in ("Relation Name", "Index Name") if name in node}
            yield node | names


def is_(field: str, value: Any, operation: str = "eq") -> dict[str, Any]:
    return {"field": field, "operation": operation, "value": value}


def assert_by_index(nodes: list[dict[str, Any]]) -> None:
    assert nodes
    assert [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"] == []
