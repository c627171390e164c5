"""Experiments whose answers differ where a test says so."""

from __future__ import annotations

from typing import Any

from tests.conftest import Caller
from tests.experiments.conftest import EXACT, make_dataset, make_experiment
from tests.experiments.pushing import Runner, post_next

TWO = ({"name": "new prompt", "kind": "push"}, {"name": "old prompt", "kind": "push"})


def topical(n: int) -> list[dict[str, Any]]:
    """Examples of two slices."""
    return [
        {"id": f"e{i}", "input": f"question {i}", "expected": f"right {i}", "metadata": {"topic": f"t{i % 2}"}}
        for i in range(n)
    ]


def answered(caller: Caller, *wrong: set[str], n: int = 20, configs: Any = TWO, **plan: Any) -> Any:
    """An experiment whose configs answer rightly but for the examples that are named, one set for each."""
    made = make_experiment(caller, make_dataset(caller, topical(n)), list(configs), **plan)
    for i, keys in enumerate(wrong):
        Runner(caller, made, i).run(lambda e, keys=keys: f"wrong {e['id']}" if e["id"] in keys else e["expected"])
    return made


def ids(made: Any) -> list[str]:
    return [config["id"] for config in made["configs"]]


def raced(caller: Caller) -> dict[str, Any]:
    """A race of sixteen configs that runs yet, for pages that a browser looks at."""
    configs = [{"name": f"model-{i:02d}", "kind": "push", "parameters": {"k": i % 4}} for i in range(16)]
    metrics = [EXACT, {"name": "ms", "source": "latency_ms", "higher_is_better": False}]
    dataset = make_dataset(caller, topical(40))
    made = make_experiment(caller, dataset, configs, metrics=metrics, num_shards=4)
    for i in range(16):
        post_next(Runner(caller, made, i), lambda e, i=i: "wrong" if e["pos"] % 16 < i else e["expected"])
    a, b = ids(made)[:2]
    return {"experiment": made["id"], "candidate": a, "baseline": b, "dataset": dataset}
