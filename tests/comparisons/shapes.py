"""Experiments whose outputs are compared, and comparisons that are worked off in this process."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.stub_llm import RunningStub
from tests.caller import Caller
from tests.experiments.shapes import lease
from tests.factories import make_connection, make_dataset, make_experiment, ok

COMPARISONS = "/v1/comparisons"
BY_ACCURACY = {"metric": "accuracy"}


def answered(caller: Caller, *, n: int = 12, right: dict[str, int] | None = None, **plan: Any) -> Any:
    """An experiment with answers pushed: of each config so many are right, the first ones."""
    right = right or {"good": 9, "bad": 3}
    examples = [{"id": f"e{i}", "input": f"question {i}", "expected": f"answer {i}"} for i in range(n)]
    configs = [{"name": name, "kind": "push"} for name in right]
    made = make_experiment(caller, make_dataset(caller, examples), configs, **plan)
    for config in made["configs"]:
        answer_all(caller, made["id"], config, right[config["name"]])
    return made


def answer_all(caller: Caller, id: str, config: Any, n_right: int) -> None:
    while unit := lease(caller, id, config["id"]):
        rows = []
        for example in unit["examples"]:
            is_right = int(example["id"][1:]) < n_right
            rows.append({"pos": example["pos"], "output": example["expected"] if is_right else f"no, {config['name']}"})
        path = f"/v1/experiments/{id}/units/{unit['id']}/outputs"
        ok(caller.post(path, {"token": unit["token"], "outputs": rows}))


def compare(caller: Caller, experiment: Any, judge: Any = BY_ACCURACY, **body: Any) -> Any:
    wanted = {"experiment_id": experiment["id"], "judge": judge} | body
    return ok(caller.post(COMPARISONS, wanted), 201)["comparison"]


def work_off(caller: Caller, comparison: Any) -> Any:
    """Judge in this process until nothing is left; return what the API shows then."""
    from evalsvc.comparisons.worker import work_on

    while work_on(account_id=caller.account.pk, id=int(comparison["id"])):
        pass
    return shown(caller, comparison)


def shown(caller: Caller, comparison: Any, query: str = "") -> Any:
    return ok(caller.get(f"{COMPARISONS}/{comparison['id']}{query}"))


def judgements(caller: Caller, comparison: Any, query: str = "limit=1000") -> Any:
    return ok(caller.get(f"{COMPARISONS}/{comparison['id']}/judgements?{query}"))["judgements"]


def work_off_all() -> None:
    """Judge whatever beat would tell workers of."""
    from evalsvc.comparisons.judgements.store import list_due_comparisons
    from evalsvc.comparisons.worker import work_on

    for account_id, id in list_due_comparisons():
        while work_on(account_id=account_id, id=id):
            pass


@contextmanager
def judging_all() -> Iterator[None]:
    """Judge in this process beside what the test does, as workers would."""
    ended = threading.Event()

    def judge() -> None:
        from django.db import connections

        while not ended.wait(0.05):
            work_off_all()
        connections.close_all()

    thread = threading.Thread(target=judge, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def by_llm(caller: Caller, stub: RunningStub, manner: str = "pass", **connection: Any) -> dict[str, Any]:
    """A judge that nobody has asked before: `pass` prefers the longer answer."""
    stub.reset()
    name = make_connection(caller, stub.base_url, model=f"stub-judge-{manner}", **connection)
    return {"connection": name, "criteria": f"The longer one is better. {uuid.uuid4().hex}"}
