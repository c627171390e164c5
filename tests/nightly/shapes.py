"""Benchmarks, and executions that are worked off by the test."""

from __future__ import annotations

import uuid
from typing import Any

from tests.conftest import Caller
from tests.experiments.pushing import Runner, answering
from tests.factories import EXACT, make_dataset, ok

PUSHED = {"name": "mine", "kind": "push"}


def new_benchmark(caller: Caller, *, n: int = 60, name: str | None = None, **plan: Any) -> Any:
    body = {"name": name or f"b-{uuid.uuid4().hex[:8]}"}
    plan = {"dataset_id": make_dataset(caller, n=n), "metrics": [EXACT]} | plan
    return ok(caller.post("/v1/benchmarks", body | {"plan": plan}))["benchmark"]


def execute(caller: Caller, benchmark: Any, wrong: set[int] | None = None, **body: Any) -> Any:
    """Start an execution; with `wrong`, answer it, wrong at these positions."""
    path = f"/v1/benchmarks/{benchmark['id']}/executions"
    made = ok(caller.post(path, {"config": PUSHED} | body))["execution"]
    if wrong is not None:
        Runner(caller, {"id": made["experiment_id"], "configs": [{"id": made["config_id"]}]}).run(answering(wrong))
    return made


def executions(caller: Caller, benchmark: Any, query: str = "") -> Any:
    return ok(caller.get(f"/v1/benchmarks/{benchmark['id']}/executions?{query}"))


def note_execution(caller: Caller, benchmark: Any, experiment: Any) -> None:
    """Write an execution that is any experiment: a row, for tests of tables."""
    from evalsvc.benchmarks.models import Execution
    from evalsvc.tenancy.scope import account_scope

    with account_scope(caller.account.pk):
        Execution.objects.create(
            account=caller.account, benchmark_id=benchmark["id"], number=1, experiment=experiment, digest="", drift=[]
        )
