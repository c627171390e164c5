"""What an evaluation takes on the disk: as the service writes it, by relation, so that nothing grows unseen."""

from __future__ import annotations

import json
from typing import Any

import psycopg
from django.db import connection
from psycopg.types.json import Jsonb

from benchmarks.growth_rows import new_accounts
from evalsvc.evaluations.database.uuids import new_uuid
from evalsvc.evaluations.models import Evaluation
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.growth.databases import Database, migrated_database

MOST_WHEN_OVER = 1280
MOST_WHILE_IT_RUNS = 1750
GROUP, N_GROUPS = 32, 400
ROWS = """
SELECT to_jsonb(q) - 'id' || jsonb_build_object('log_id', e.log_id), to_jsonb(e) - 'id'
FROM evaluations_evaluation e JOIN evaluations_evaluationrequest q ON q.id = e.request_id WHERE e.account_id = %s
"""
CAPTURE = "SELECT request_ids FROM capture_requests(%s, '{}', '{}', '{}', '{}')"
# Of the partitions that hold something: their pages, and those of their indexes.
BYTES = """
SELECT regexp_replace(c.relname, '_until_.*', ''), pg_relation_size(c.oid) FROM pg_class c
WHERE c.relname ~ '_until_' AND c.relkind IN ('r', 'i') AND pg_relation_size(c.oid) > 16384 ORDER BY 2 DESC
"""


def as_written(caller: Caller) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of a request and its evaluation as a call leaves them: tiny texts, an app, a log."""
    sent = {"output": "Paris", "label": "Paris", "app": "default", "capture": "all"}
    answer = caller.post(
        "/v1/evaluate", {"evaluators": [{"evaluator": "exact-match", "explain_strategy": "never"}], **sent}
    )
    assert answer.status_code == 200, answer.content
    with account_scope(caller.account.pk):
        with connection.cursor() as cursor:
            cursor.execute(ROWS, [caller.account.pk])
            request, evaluation = map(json.loads, cursor.fetchone())
        assert Evaluation.objects.filter(account=caller.account, captured=True, in_history=True).count() == 1
    return request, evaluation


def fill(database: Database, request: dict[str, Any], evaluation: dict[str, Any]) -> None:
    """Capture as the group commit does, with five accounts in each group."""
    with database.connect("owner") as owner, database.connect("app") as app:
        accounts = new_accounts(owner)
        for group in range(N_GROUPS):
            captures = [
                {
                    "account": accounts[i % 5],
                    "lease_seconds": 60,
                    "request": request | {"fingerprint": hash((group, i)), "log_id": str(new_uuid())},
                    "evaluations": [evaluation],
                }
                for i in range(GROUP)
            ]
            app.execute(CAPTURE, [Jsonb(captures)])


def bytes_by_relation(owner: psycopg.Connection[Any]) -> dict[str, float]:
    return {name: size / (GROUP * N_GROUPS) for name, size in owner.execute(BYTES).fetchall()}


def test_an_evaluation_takes_so_many_bytes(alice: Caller, servers: Any) -> None:
    request, evaluation = as_written(alice)
    with migrated_database(servers.postgres.url) as database:
        fill(database, request, evaluation)
        with database.connect("owner") as owner:
            running = bytes_by_relation(owner)
            database.run("repack", "--before", "2040-01")
            over = bytes_by_relation(owner)

    for name, size in running.items():
        print(f"{name:45} {size:7.1f} {over[name]:7.1f}")
    print(f"{'together':45} {sum(running.values()):7.1f} {sum(over.values()):7.1f}")
    assert {"evaluations_evaluation", "evaluations_evaluationrequest", "evaluations_historyscore"} <= over.keys()
    assert sum(running.values()) <= MOST_WHILE_IT_RUNS
    assert sum(over.values()) <= MOST_WHEN_OVER
