"""An account is deleted while workers hold its work: they come to no harm, write nothing, and others' work goes on."""

from __future__ import annotations

from io import StringIO
from typing import Any

import httpx
import pytest
from django.core.management import call_command
from django.db import connections

from benchmarks.stub_llm import running_stub
from evalsvc.evaluations.models import Evaluation
from tests.conftest import Caller, findings, new_caller, wait_until
from tests.experiments.conftest import chat, make_connection, make_dataset, make_experiment
from tests.faults.conftest import Service
from tests.faults.experiment_tools import MODELS, check_whole, running_crew, wait_for
from tests.tenancy.shapes import TABLES

pytestmark = pytest.mark.slow

N_EXAMPLES = 60
N_REQUESTS = 60


def left(caller: Caller) -> dict[str, int]:
    """How many rows the account has, by table."""
    found = {}
    with connections["owner"].cursor() as cursor:
        cursor.execute(TABLES)
        for table, column, _ in cursor.fetchall():
            cursor.execute(f"SELECT count(*) FROM {table} WHERE {column} = %s", [caller.account.pk])
            found[table] = cursor.fetchone()[0]
    return {table: n for table, n in found.items() if n}


def delete(caller: Caller, **options: Any) -> None:
    call_command("delete_account", caller.account.name, "--yes", "--no-scrub", stdout=StringIO(), **options)


@pytest.mark.timeout(600)
def test_workers_that_hold_its_experiments_go_on_with_others(servers: Any) -> None:
    with running_stub(latency_ms=30) as stub, running_crew(servers) as crew:
        alice, charlie = new_caller(name="alice"), new_caller(name="charlie")
        made = {}
        for caller in (alice, charlie):
            connection, dataset = make_connection(caller, stub.base_url), make_dataset(caller, n=N_EXAMPLES)
            made[caller.key] = make_experiment(caller, dataset, [chat(connection, model) for model in MODELS])["id"]
        wait_until(lambda: stub.calls()["total"] > N_EXAMPLES, pause=0.02)
        worker = crew.worker.pid

        # No time for what is under way: what comes back from the endpoint finds nothing to be written to.
        delete(alice, grace=0)

        assert left(alice) == {}
        assert wait_for(charlie, made[charlie.key], "done", seconds=300) == "done"
        check_whole(charlie, made[charlie.key], n_configs=len(MODELS), n_examples=N_EXAMPLES)
        assert left(alice) == {}
        assert crew.worker.pid == worker
        assert findings(charlie) == {}


@pytest.mark.timeout(600)
def test_workers_that_hold_its_evaluations_go_on_with_others(service: Service) -> None:
    alice, charlie = new_caller(name="alice"), new_caller(name="charlie")
    body = {"evaluators": [{"evaluator": "toxicity"}], "evaluated_model_output": "You are very kind.", "capture": "all"}
    with httpx.Client(base_url=service.url, timeout=60, headers={"Prefer": "respond-async"}) as client:
        for _ in range(N_REQUESTS):
            for caller in (alice, charlie):
                answer = client.post("/v1/evaluate", json=body, headers={"X-API-KEY": caller.key})
                assert answer.status_code == 202, answer.text
    of_charlie = Evaluation.objects.using("system").filter(account_id=charlie.account.pk)

    delete(alice, grace=0)

    assert left(alice) == {}
    assert httpx.get(f"{service.url}/v1/whoami", headers={"X-API-KEY": alice.key}, timeout=60).status_code == 401
    wait_until(lambda: not of_charlie.filter(status="pending").exists(), seconds=300)
    assert of_charlie.filter(status="success").count() == N_REQUESTS
    assert left(alice) == {}
    assert findings(charlie) == {}
