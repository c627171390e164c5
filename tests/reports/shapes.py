"""Experiments that have much to report: several configs, metrics, errors, and texts that would rather be markup."""

from __future__ import annotations

from typing import Any

from tests.conftest import Caller
from tests.experiments.pushing import Runner
from tests.factories import EXACT, make_dataset, make_experiment, ok

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>|[x](javascript:alert(3))\n# @everyone `"
METRICS = [EXACT, {"name": "latency", "source": "latency_ms", "higher_is_better": False}]
WEIGHED = [*METRICS, {"name": "brevity", "source": "/brevity", "value_range": [0, 1]}]


def answer_of(wrong: int, *, said: str = "wrong") -> Any:
    """Answer with what is expected, but for the examples of which the position is a multiple of `wrong`."""

    def answer(example: Any) -> dict[str, Any]:
        is_wrong = example["pos"] % wrong == 0
        return {"output": said if is_wrong else example["expected"], "brevity": 1 / wrong}

    return answer


def reported_experiment(caller: Caller, n: int = 40, *, name: str | None = None, **plan: Any) -> Any:
    """Three configs that a sweep made, one clearly worse, one whose outputs fail here and there; it is done."""
    dataset_id = make_dataset(caller, n=n)
    label = name or ""
    configs = [
        {"name": f"{label}k={k}", "kind": "push", "parameters": {"k": k, "model": {"name": "m"}}} for k in (7, 5, 2)
    ]
    made = make_experiment(caller, dataset_id, configs, **{"metrics": WEIGHED, "seed": 5} | plan)
    for i, wrong in enumerate((7, 5, 2)):
        work_off(Runner(caller, made, i), answer_of(wrong, said=f"{label}wrong"), fails=i == 1)
    return made


def work_off(runner: Runner, answer: Any, *, fails: bool = False) -> None:
    """Post every output of a config; with `fails` one in ten has none."""
    while unit := runner.lease()["unit"]:
        rows = [{"pos": e["pos"], "latency_ms": 10.0 + e["pos"], "cost": 0.001} for e in unit["examples"]]
        for row, example in zip(rows, unit["examples"], strict=True):
            if fails and example["pos"] % 10 == 3:
                row["error"] = {"type": "timeout", "message": f"too slow {HOSTILE}"}
            else:
                row["output"] = answer(example)
        runner.post(unit, rows)


def report(caller: Caller, id: str, query: str = "") -> Any:
    return ok(caller.get(f"/v1/experiments/{id}/report?{query}"))


def page(caller: Caller, id: str, format: str = "html", query: str = "") -> str:
    answer = caller.get(f"/v1/experiments/{id}/report?format={format}&{query}")
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())
