"""What many tests need to be there. `new_` writes the rows, `make_` goes through the API; each call makes one of its own.

Models are imported where they are used: pytest may read this before Django is set up.
"""

from __future__ import annotations

import uuid
from typing import Any

from benchmarks.stub_tasks import seeded_task
from tests import leftovers
from tests.caller import Caller

EXACT = {"name": "accuracy", "evaluator": "exact-match"}


def new_account(name: str = "account") -> Any:
    from evalsvc.accounts.services import create_account
    from evalsvc.tenancy.scope import SYSTEM, role_scope

    with role_scope(SYSTEM):
        account = create_account(name=f"{name} {uuid.uuid4().hex[:12]}")
    leftovers.note(account.pk)
    return account


def new_caller(account: Any = None, *, scope: str = "write", name: str = "account") -> Caller:
    from evalsvc.accounts.models import ApiKey
    from evalsvc.accounts.services import issue_key

    account = account or new_account(name)
    _, text = issue_key(account=account, name="test", scope=ApiKey.Scope(scope))
    return Caller(account, str(text))


def ok(response: Any, status: int = 200) -> Any:
    """Return the body of an answer that must have this status."""
    assert response.status_code == status, response.content
    return response.json() if response.content else None


def make_profile(caller: Caller, family: str, name: str | None = None, **config: Any) -> Any:
    """Keep settings of a family under a name; return what the API shows of them."""
    body = {"evaluator_family": family, "name": name or f"p-{uuid.uuid4().hex[:10]}", "config": config}
    answer = caller.post("/v1/evaluator-criteria", body)
    assert answer.status_code in (200, 201), answer.content
    return answer.json()["evaluator_criteria"]


def make_own_evaluator(caller: Caller, base: str, **fields: Any) -> str:
    """Give a managed evaluator a name of the account's own; return that name."""
    from evalsvc.catalog.models import Evaluator
    from evalsvc.catalog.services import save_evaluator

    name = f"own-{uuid.uuid4().hex[:10]}"
    row = Evaluator(evaluator_id=name, base=base, name=name, **fields)
    save_evaluator(account=caller.account, evaluator=row, actor="tests")
    return name


def make_dataset(caller: Caller, examples: list[dict[str, Any]] | None = None, *, n: int = 40, seed: int = 1) -> str:
    examples = examples or [
        {"id": row["sid"], "input": row["task_input"], "expected": row["gold_answer"]} for row in seeded_task(n, seed)
    ]
    body = {"dataset_name": f"d-{uuid.uuid4().hex[:10]}", "examples": examples}
    return ok(caller.post("/v1/datasets", body))["dataset_id"]


def make_connection(caller: Caller, base_url: str, **fields: Any) -> str:
    """Make a connection; return its name."""
    name = f"c-{uuid.uuid4().hex[:10]}"
    body = {"name": name, "base_url": base_url, "model": "stub-echo", "key": "sk-test-0123456789"} | fields
    ok(caller.post("/v1/connections", body), 201)
    return str(body["name"])


def chat(connection: str, model: str, name: str | None = None, **parameters: Any) -> dict[str, Any]:
    knobs = {"connection": connection, "model": model, "prompt": "{{input}}"} | parameters
    return {"name": name or model, "kind": "chat", "parameters": knobs}


def make_experiment(caller: Caller, dataset_id: str, configs: list[dict[str, Any]], **plan: Any) -> Any:
    body = {
        "name": f"x-{uuid.uuid4().hex[:8]}",
        "plan": {"dataset_id": dataset_id, "metrics": [EXACT], "start": True} | plan,
        "configs": configs,
    }
    return ok(caller.post("/v1/experiments", body))["experiment"]


def new_experiment(caller: Caller) -> Any:
    """A place for evaluations: an experiment in a project, without a plan."""
    from evalsvc.projects.models import Experiment, Project
    from evalsvc.tenancy.scope import account_scope

    with account_scope(caller.account.pk):
        project = Project.objects.create(account=caller.account, name=f"project {uuid.uuid4().hex[:8]}")
        experiment = Experiment.objects.create(account=caller.account, project=project, name="first")
        experiment.refresh_from_db()
    return experiment
