"""No search by an indexed field reads a table from end to end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections

from tests.conftest import Caller, new_caller

REQUESTS = """
INSERT INTO evaluations_evaluationrequest (account_id, capture, strategy, fingerprint, app, tags, log_id, purged, completed_at)
SELECT %s, 'all', 'none', i, 'app-' || i %% 20, CASE WHEN i %% 3 = 0 THEN
  jsonb_build_object('env', CASE WHEN i %% 2 = 0 THEN 'prod' ELSE 'dev' END, 'user', 'u' || i %% 1000) END, 'log-' || i, false, now()
FROM generate_series(1, 12000) i
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
INSERT INTO evaluations_evaluationtag (account_id, evaluation_id, digest, created_at)
SELECT e.account_id, e.id, tag_digest(e.account_id, tag.key, tag.value), e.created_at
FROM evaluations_evaluation e JOIN evaluations_evaluationrequest q ON q.id = e.request_id
CROSS JOIN LATERAL jsonb_each_text(q.tags) tag WHERE e.account_id = %s
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
UUID_AT = """
CREATE FUNCTION pg_temp.uuid_at(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$
"""
SOME_UUID = "00000000-0000-4000-8000-000000000003"
TABLES = ("evaluations_evaluation", "evaluations_evaluationtag", "evaluations_evaluationrequest")
# The partition that has the rows; the others are empty, and nothing is quicker than to read nothing from end to end.
FILLED = re.compile(r"_until_\d{4}_\d{2}$")


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    """An account with 12 000 evaluations beside another with as many; both go away afterwards."""
    callers = new_caller(name="planned"), new_caller(name="neighbour")
    with connections["owner"].cursor() as cursor:
        cursor.execute(UUID_AT)
        for one in callers:
            cursor.execute(REQUESTS, [one.account.pk])
            cursor.execute(EVALUATIONS.replace("uuid_at(", "pg_temp.uuid_at("), [one.account.pk])
            cursor.execute(TAGS, [one.account.pk])
        for statement in CATALOG:
            cursor.execute(statement, [callers[0].account.pk])
        cursor.execute(f"VACUUM ANALYZE {', '.join(TABLES)}")
    yield callers[0]
    with connections["owner"].cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"DELETE FROM {table} WHERE account_id = ANY(%s)", [[one.account.pk for one in callers]])  # nosec B608
        for table in ("catalog_evaluator", "catalog_profile"):
            cursor.execute(f"DELETE FROM {table} WHERE account_id = %s", [callers[0].account.pk])  # nosec B608
        cursor.execute(f"VACUUM ANALYZE {', '.join(TABLES)}")
        cursor.execute("DROP FUNCTION pg_temp.uuid_at(bigint)")
    connections["owner"].close()


def plans_of(caller: Caller, body: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    """Return how many rows a search finds, and every node of the plans of its statements."""
    from evalsvc.tenancy.scope import account_scope

    statements: list[tuple[str, Any]] = []

    def note(execute: Any, statement: Any, params: Any, many: bool, context: Any) -> Any:
        if "evaluations_" in str(statement):
            statements.append((statement, params))
        return execute(statement, params, many, context)

    with connection.execute_wrapper(note):
        answer = caller.post("/v1/evaluations/search", body)
    assert answer.status_code == 200, answer.content
    nodes: list[dict[str, Any]] = []
    with account_scope(caller.account.pk), connection.cursor() as cursor:
        for statement, params in statements:
            cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}", params)
            (plan,) = cursor.fetchone()
            waiting = [(json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]]
            while waiting:
                node = waiting.pop()
                waiting += node.get("Plans", [])
                if FILLED.search(node.get("Relation Name", "_until_2026_01")):
                    names = {
                        name: FILLED.sub("", node[name]) for name in ("Relation Name", "Index Name") if name in node
                    }
                    nodes.append(node | names)
    return len(answer.json()["evaluations"]), nodes


def is_(field: str, value: Any, operation: str = "eq") -> dict[str, Any]:
    return {"field": field, "operation": operation, "value": value}


SEARCHES: dict[str, tuple[list[dict[str, Any]], str | None]] = {
    "nothing": ([], "ix_evaluation_account"),
    "evaluator": ([is_("evaluator_id", "evaluator-3")], "ix_evaluation_evaluator_id"),
    "family": ([is_("evaluator_family", "family-9")], "ix_evaluation_evaluator_id"),
    "family-of-two": ([is_("evaluator_family", "family-3")], None),
    "families": ([is_("evaluator_family", ["family-9", "family-10"], "in")], None),
    "criteria": ([is_("criteria", "profile-3")], "ix_evaluation_profile_name"),
    "criteria-id": ([is_("criteria_id", SOME_UUID)], "ix_evaluation_profile_name"),
    "project": ([is_("project_id", SOME_UUID)], "ix_evaluation_project_id"),
    "app": ([is_("app", "app-3")], "ix_evaluation_app"),
    "experiment": ([is_("experiment_id", 10)], "ix_evaluation_experiment_id"),
    "dataset": ([is_("dataset_id", "dataset-5")], "ix_evaluation_dataset_id"),
    "log": ([is_("log_id", "log-77")], "ix_evaluation_log_id"),
    "trace": ([is_("trace_id", "trace-77")], "ix_evaluation_trace_id"),
    "fails": ([is_("pass", False)], "ix_evaluation_failed"),
    "unscored": ([is_("status", ["error", "validation_error"], "in")], "ix_evaluation_unscored"),
    "errors": ([is_("status", "error")], "ix_evaluation_unscored"),
    "favorites": ([is_("favorite", True)], "ix_evaluation_favorite"),
    "feedback": ([is_("feedback", "negative")], "ix_evaluation_feedback"),
    "made-elsewhere": ([is_("evaluation_type", "client_evaluation")], "ix_evaluation_type"),
    "recent": ([is_("created_at", "2000-01-01", "ge")], None),
    "tag": ([is_("tags.env", "prod")], "ix_evaluationtag_newest"),
    "rare-tag": ([is_("tags.user", "u3")], "ix_evaluationtag_newest"),
    "tags": ([is_("tags.user", ["u3", "u6"], "in")], None),
    "apps": ([is_("app", ["app-3", "app-4"], "in")], None),
    "or": ([{"or_": [is_("app", "app-3"), is_("trace_id", "trace-77")]}], None),
    "app-and-fails": ([is_("app", "app-0"), is_("pass", False)], None),
}
MISSING = {
    field: [is_(field, SOME_UUID.replace("3", "f") if field == "project_id" else "404")]
    for field in ("evaluator_id", "criteria", "project_id", "app", "experiment_id", "log_id", "trace_id", "tags.env")
}


def assert_by_index(nodes: list[dict[str, Any]]) -> None:
    assert nodes
    assert [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"] == []


@pytest.mark.parametrize("limit", [10, 1000])
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_goes_by_an_index(caller: Caller, name: str, limit: int) -> None:
    filters, index = SEARCHES[name]
    n, nodes = plans_of(caller, {"filters": filters, "limit": limit})

    assert n > 0
    assert_by_index(nodes)
    assert index is None or index in {node.get("Index Name") for node in nodes}


@pytest.mark.parametrize("field", MISSING)
def test_what_is_not_there_is_missed_by_an_index(caller: Caller, field: str) -> None:
    n, nodes = plans_of(caller, {"filters": MISSING[field]})

    assert n == 0
    assert_by_index(nodes)


@pytest.mark.parametrize(
    ("field", "value"), [("evaluator_family", "404"), ("criteria_id", SOME_UUID.replace("3", "f"))]
)
def test_what_the_catalog_does_not_know_is_looked_for_nowhere(caller: Caller, field: str, value: str) -> None:
    assert plans_of(caller, {"filters": [is_(field, value)]}) == (0, [])


def test_a_page_far_inside_goes_by_an_index(caller: Caller) -> None:
    cursor = caller.post("/v1/evaluations/search", {"limit": 1, "offset": 6000}).json()["next_cursor"]
    for place in ({"cursor": cursor}, {"offset": 6000}):
        n, nodes = plans_of(caller, {"limit": 100, **place})

        assert n == 100
        assert_by_index(nodes)
        assert "Sort" not in {node["Node Type"] for node in nodes if node.get("Relation Name") == TABLES[0]}


def test_the_cursor_bounds_the_index(caller: Caller) -> None:
    cursor = caller.post("/v1/evaluations/search", {"limit": 1, "offset": 6000}).json()["next_cursor"]
    _, nodes = plans_of(caller, {"limit": 10, "cursor": cursor})

    (scan,) = (node for node in nodes if node.get("Index Name") == "ix_evaluation_account")
    assert "created_at <=" in scan["Index Cond"]


@pytest.mark.parametrize("beside", [[], [is_("app", "app-0")], [is_("tags.user", "u6")]], ids=["alone", "app", "tag"])
def test_a_search_by_a_tag_asks_no_request(caller: Caller, beside: list[dict[str, Any]]) -> None:
    _, nodes = plans_of(caller, {"filters": [is_("tags.env", "prod"), *beside], "limit": 100})
    asked = [node for node in nodes if node.get("Relation Name") == "evaluations_evaluationrequest"]

    assert "ix_evaluationtag_newest" in {node.get("Index Name") for node in nodes}
    assert_by_index(nodes)
    assert len(asked) == 2  # for what is shown of the page: weighed, then read
