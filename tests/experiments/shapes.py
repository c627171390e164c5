"""An experiment of which every table of the app holds a row."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from tests.conftest import Caller
from tests.datasets.shapes import new_version

ACCURACY = [{"name": "accuracy", "evaluator": "exact-match"}]
PASSES = {"name": "passes", "evaluator": "exact-match", "source": "pass"}


@dataclass(frozen=True)
class Filled:
    """Its ids."""

    id: str
    configs: list[str]
    unit: str
    dataset: str


def posted(caller: Caller, path: str, body: Any) -> Any:
    answer = caller.post(path, body)
    assert answer.status_code == 200, answer.content
    return answer.json()


def new_push_experiment(caller: Caller, n: int = 30, name: str | None = None, **plan: Any) -> Any:
    """A running experiment of two configs that the caller works off."""
    version = new_version(caller, n)
    body = {
        "name": name or uuid.uuid4().hex[:10],
        "plan": {"dataset_id": str(version.dataset_id), "metrics": ACCURACY, "start": True} | plan,
        "configs": [{"name": f"{name or ''}good", "kind": "push"}, {"name": f"{name or ''}bad", "kind": "push"}],
    }
    return posted(caller, "/v1/experiments", body)["experiment"]


def lease(caller: Caller, id: str, config_id: str, **body: Any) -> Any:
    return posted(caller, f"/v1/experiments/{id}/configs/{config_id}/lease", body)["unit"]


def post_outputs(caller: Caller, id: str, unit: Any, text: str | None = None) -> Any:
    rows = [{"pos": e["pos"], "output": text or e["expected"]} for e in unit["examples"]]
    body = {"token": unit["token"], "outputs": rows}
    return posted(caller, f"/v1/experiments/{id}/units/{unit['id']}/outputs", body)


def filled_experiment(caller: Caller, name: str | None = None) -> Filled:
    """Run a race until the worse config is dropped, and stop the other one by hand."""
    made = new_push_experiment(caller, name=name, policy="race_default", metrics=[*ACCURACY, PASSES])
    good, bad = (config["id"] for config in made["configs"])
    unit: Any = None
    for _ in range(2):
        for config, text in ((good, None), (bad, f"{name or ''}wrong")):
            unit = lease(caller, made["id"], config)
            if unit is not None:
                post_outputs(caller, made["id"], unit, text)
    unit = lease(caller, made["id"], good)
    added = {"metrics": [{"name": "mine", "source": "client"}]}
    posted(caller, f"/v1/experiments/{made['id']}/metrics", added)
    first = caller.get(f"/v1/experiments/{made['id']}/results?config_id={good}&limit=1000").json()["results"][-1]
    posted(
        caller,
        f"/v1/experiments/{made['id']}/scores",
        {"metric": "mine", "scores": [{"output_id": first["id"], "value": 1}]},
    )
    posted(caller, f"/v1/experiments/{made['id']}/configs/{good}/stop", {})
    _add_stage(caller, made["id"], good, unit)
    _add_retry(caller, made["id"])
    return Filled(made["id"], [good, bad], unit["id"], made["plan"]["dataset_id"])


def _add_stage(caller: Caller, id: str, config_id: str, unit: Any) -> None:
    """Keep what a node of a pipeline has answered; its workers are in no test of tables."""
    from evalsvc.experiments.models import StageOutput
    from evalsvc.tenancy.scope import account_scope

    asked = {"config_id": int(config_id), "pos": 0, "unit_id": int(unit["id"]), "token": unit["token"]}
    with account_scope(caller.account.pk):
        StageOutput.objects.create(
            account=caller.account, experiment_id=int(id), key="0" * 64, output={"output": "x"}, **asked
        )


def _add_retry(caller: Caller, id: str) -> None:
    """Keep that somebody has ordered a retry, of which nothing is left to do."""
    from evalsvc.experiments.models import Retry
    from evalsvc.tenancy.scope import account_scope

    with account_scope(caller.account.pk):
        Retry.objects.create(account=caller.account, experiment_id=int(id), number=1, what="outputs", n_outputs=1)


def finished_experiment(caller: Caller, name: str) -> str:
    """An experiment that has answered all of its few examples; return its id."""
    made = new_push_experiment(caller, 4, name=f"{name}finished")
    for config in made["configs"]:
        while unit := lease(caller, made["id"], config["id"]):
            post_outputs(caller, made["id"], unit, f"{name}done")
    return str(made["id"])
