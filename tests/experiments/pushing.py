"""A caller that works an experiment's units off itself, and what it reads of it."""

from __future__ import annotations

from typing import Any

from tests.conftest import Caller
from tests.experiments.conftest import by_name, live, ok

PUSH = {"name": "mine", "kind": "push"}


class Runner:
    """Works a push config off, as the client does."""

    def __init__(self, caller: Caller, experiment: Any, config: int = 0) -> None:
        self.caller, self.id = caller, experiment["id"]
        self.config = experiment["configs"][config]["id"]

    def lease(self, **body: Any) -> Any:
        return ok(self.caller.post(f"/v1/experiments/{self.id}/configs/{self.config}/lease", body))

    def post(self, unit: Any, outputs: list[dict[str, Any]], **body: Any) -> Any:
        body = {"token": unit["token"], "outputs": outputs} | body
        return ok(self.caller.post(f"/v1/experiments/{self.id}/units/{unit['id']}/outputs", body))

    def run(self, answer: Any = lambda example: example["expected"], **extra: Any) -> int:
        n = 0
        while unit := self.lease()["unit"]:
            rows = [{"pos": e["pos"], "output": answer(e), **extra} for e in unit["examples"]]
            n += len(self.post(unit, rows)["accepted"])
        return n


def results(caller: Caller, made: Any, query: str = "", status: int = 200) -> Any:
    answer = ok(caller.get(f"/v1/experiments/{made['id']}/results?{query}"), status)
    return answer["results"] if status == 200 else answer


def add(caller: Caller, made: Any, name: str) -> Runner:
    body = {"configs": [{"name": name, "kind": "push"}]}
    added = ok(caller.post(f"/v1/experiments/{made['id']}/configs", body))["configs"]
    return Runner(caller, {**made, "configs": added})


def answering(wrong: set[int]) -> Any:
    return lambda e: "wrong" if e["pos"] in wrong else e["expected"]


def post_next(runner: Runner, answer: Any) -> None:
    unit = runner.lease()["unit"]
    runner.post(unit, [{"pos": e["pos"], "output": answer(e)} for e in unit["examples"]])


def answer(runner: Runner, right: Any) -> bool:
    """Answer one unit; False when there is none."""
    unit = runner.lease()["unit"]
    if unit is None:
        return False
    rows = [{"pos": e["pos"], "output": e["expected"] if right(e["pos"]) else "wrong"} for e in unit["examples"]]
    runner.post(unit, rows)
    return True


def states(caller: Caller, made: Any) -> dict[str, Any]:
    return {name: (row["state"], row["stop_reason"]) for name, row in by_name(live(caller, made["id"])).items()}


def decisions(caller: Caller, made: Any) -> list[tuple[str, str, str | None]]:
    rows = ok(caller.get(f"/v1/experiments/{made['id']}/decisions"))["decisions"]
    return [(row["reason"], row["config"], row["against"]) for row in reversed(rows)]


def mostly(pos: int) -> bool:
    return pos % 4 != 0
