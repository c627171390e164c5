"""Finished experiments of two configs that get chosen examples wrong, and gates about them."""

from __future__ import annotations

from typing import Any

from tests.conftest import Caller
from tests.experiments.pushing import Runner
from tests.factories import EXACT, make_dataset, make_experiment, ok

LATENCY = {"name": "latency_ms", "source": "latency_ms", "higher_is_better": False}
TWO = [{"name": name, "kind": "push"} for name in ("old", "new")]


def examples(n: int, first: int = 0) -> list[dict[str, Any]]:
    return [{"id": f"e{i}", "input": f"question {i}", "expected": f"answer {i}"} for i in range(first, first + n)]


def answers(
    wrong: set[int], gone: set[int] | None = None, latency_ms: float = 100.0, *, error: str = "connection"
) -> Any:
    """What a config answers: wrongly to some examples, and not at all to others."""

    def rows(unit: Any) -> list[dict[str, Any]]:
        found = []
        for e in unit["examples"]:
            i, row = int(e["id"][1:]), {"pos": e["pos"]}
            if i in (gone or ()):
                found.append(row | {"error": {"type": error, "message": "broke"}})
            else:
                said = f"wrong <b>{i}</b>" if i in wrong else e["expected"]
                found.append(row | {"output": said, "latency_ms": latency_ms + i % 10})
        return found

    return rows


def work_off(caller: Caller, made: Any, config: int, rows: Any, units: int | None = None) -> None:
    runner = Runner(caller, made, config)
    done = 0
    while (units is None or done < units) and (unit := runner.lease()["unit"]):
        runner.post(unit, rows(unit))
        done += 1


def finished(caller: Caller, n: int, *rows: Any, dataset: str | None = None, configs: Any = None, **plan: Any) -> Any:
    """An experiment whose configs have answered everything."""
    configs = configs or TWO[: len(rows)]
    made = make_experiment(
        caller, dataset or make_dataset(caller, examples(n)), configs, **{"metrics": [EXACT, LATENCY]} | plan
    )
    for i, one in enumerate(rows):
        work_off(caller, made, i, one)
    return made


def against(made: Any, other: Any = None) -> dict[str, Any]:
    """The sides of a gate: the second config against the first."""
    return {
        "candidate": {"experiment_id": made["id"], "config": "new"},
        "baseline": {"experiment_id": (other or made)["id"], "config": "old"},
    }


def history_gate(caller: Caller) -> Any:
    """A gate about what has been captured, whatever that is."""
    return ask(caller, {"history": {"evaluator": "exact-match"}}, {"metric": "pass", "at_least": 0.5})


def ask(caller: Caller, body: Any, *rules: Any, **more: Any) -> Any:
    return ok(caller.post("/v1/gates", body | {"rules": list(rules)} | more))["gate"]


def refused(caller: Caller, body: Any, *rules: Any, **more: Any) -> dict[str, str]:
    """What each pointer of a refusal says."""
    answer = ok(caller.post("/v1/gates", body | {"rules": list(rules)} | more), 422)
    return {error["pointer"]: error["detail"] for error in answer["errors"]}
