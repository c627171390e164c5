"""Decisions of running races: the evidence, its limits, budgets, and an order that is really random."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from tests.conftest import Caller
from tests.experiments.conftest import (
    by_name,
    chat,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    recounted,
    run_units,
)
from tests.experiments.pushing import Runner

# Slow enough for decisions to come between the answers.
WORST, MIDDLE, BEST = "stub-accuracy-0.20-w@15", "stub-accuracy-0.55-m@15", "stub-accuracy-0.95-b@15"


@pytest.mark.parametrize("policy", ["race_safe", "race_default", "race_fast", "halving"])
def test_a_race_keeps_the_best_and_saves_queries(alice: Caller, stub: RunningStub, policy: str) -> None:
    connection = make_connection(alice, stub.base_url)
    configs = [chat(connection, model) for model in (WORST, MIDDLE, BEST)]
    made = make_experiment(alice, make_dataset(alice, n=200), configs, policy=policy)
    run_units()
    view = live(alice, made["id"])
    found = by_name(view)
    assert view["experiment"]["state"] == "done"
    assert (found[BEST]["state"], found[WORST]["state"], found[WORST]["stop_reason"]) == (
        "completed",
        "stopped",
        "policy",
    )
    assert view["experiment"]["n_queries"] < 570
    assert view["leader"] == found[BEST]["id"]
    decisions = ok(alice.get(f"/v1/experiments/{made['id']}/decisions"))["decisions"]
    against_worst = next(row for row in decisions if row["config"] == WORST)
    assert against_worst["evidence"]["n"] >= 10 or policy == "halving"
    assert recounted(alice, made["id"]) == []


def test_people_decide_when_the_policy_is_manual(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    made = make_experiment(alice, make_dataset(alice, n=60), [chat(connection, model) for model in (WORST, BEST)])
    run_units()
    view = live(alice, made["id"])
    assert [config["state"] for config in view["configs"]] == ["completed", "completed"]
    assert view["decisions"] == []
    versus = by_name(view)[WORST]["versus_leader"]
    assert versus["upper"] < 0
    assert (versus["word"], versus["covers"]) == ("worse", "new data")
    assert versus["this_set"]["lower"] == versus["this_set"]["upper"] == versus["delta"]


def test_a_budget_of_queries_is_never_exceeded(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    configs = [chat(connection, model) for model in (WORST, BEST)]
    made = make_experiment(alice, make_dataset(alice, n=60), configs, budget={"queries": 47})
    run_units()
    view = live(alice, made["id"])
    assert view["experiment"]["n_queries"] == 47
    assert {config["stop_reason"] for config in view["configs"]} == {"budget"}
    assert view["experiment"]["state"] == "idle"
    assert recounted(alice, made["id"]) == []


def test_a_budget_of_money_stops_everything(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url, price_input_per_million=1000.0, price_output_per_million=1000.0)
    made = make_experiment(alice, make_dataset(alice, n=300), [chat(connection, BEST)], budget={"cost": 0.2})
    run_units()
    view = live(alice, made["id"])
    assert view["configs"][0]["stop_reason"] == "budget"
    assert 0.2 <= view["experiment"]["cost"] < 2.0


def test_an_identical_clone_asks_nothing_again(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    made = make_experiment(alice, make_dataset(alice, n=30), [chat(connection, BEST)])
    run_units()
    before = stub.calls()["by_model"][BEST]
    path = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone"
    ok(alice.post(path, {"name": "again"}))
    run_units()
    view = live(alice, made["id"])
    assert by_name(view)["again"]["n_reused"] == 30
    assert stub.calls()["by_model"][BEST] == before
    assert view["experiment"]["n_queries"] == 30
    assert recounted(alice, made["id"]) == []


def test_a_dataset_sorted_by_difficulty_does_not_bias_the_running_estimate(alice: Caller) -> None:
    """The first half of the dataset is easy, the second impossible: a slice of it would show 1.0 and then fall."""
    examples: list[dict[str, Any]] = [{"input": f"{i}", "expected": "easy" if i < 200 else "hard"} for i in range(400)]
    dataset = make_dataset(alice, examples)
    means = []
    for seed in range(12):
        made = make_experiment(alice, dataset, [{"name": "a", "kind": "push"}], seed=seed)
        runner = Runner(alice, made)
        for _ in range(5):
            unit = runner.lease()["unit"]
            runner.post(unit, [{"pos": e["pos"], "output": "easy"} for e in unit["examples"]])
        means.append(live(alice, made["id"])["configs"][0]["metrics"]["accuracy"]["value"])
    # Each is the mean of 50 of 400 without replacement: standard deviation .066, of twelve of them .019.
    assert sum(means) / len(means) == pytest.approx(0.5, abs=4 * 0.019)
    assert max(abs(mean - 0.5) for mean in means) < 5 * 0.066


def test_a_config_that_a_person_resumed_is_not_dropped_again(alice: Caller) -> None:
    configs = [{"name": n, "kind": "push"} for n in ("good", "bad")]
    made = make_experiment(alice, make_dataset(alice, n=60), configs, policy="race_default")
    good, bad = (Runner(alice, made, i) for i in range(2))
    for _ in range(2):
        for runner, text in ((good, None), (bad, "wrong")):
            if unit := runner.lease()["unit"]:
                runner.post(unit, [{"pos": e["pos"], "output": text or e["expected"]} for e in unit["examples"]])
    assert by_name(live(alice, made["id"]))["bad"]["stop_reason"] == "policy"
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{bad.config}/resume", {}))
    assert bad.run(lambda e: "wrong") >= 40
    assert by_name(live(alice, made["id"]))["bad"]["state"] == "completed"


def test_every_config_sees_one_order_and_another_seed_gives_another(alice: Caller) -> None:
    dataset = make_dataset(alice, n=30)
    orders = []
    for seed in (0, 0, 1):
        made = make_experiment(alice, dataset, [{"name": n, "kind": "push"} for n in "ab"], seed=seed)
        for config in range(2):
            unit = Runner(alice, made, config).lease(n=30)["unit"]
            orders.append([e["id"] for e in unit["examples"]])
    assert orders[0] == orders[1] == orders[2] == orders[3] != orders[4]
    assert sorted(orders[4]) == sorted(orders[0])
    assert orders[0] != sorted(orders[0], key=int)


def test_the_prefix_decides_not_what_came_back_first(alice: Caller) -> None:
    """Fast examples come back first; if they are the easy ones, everything finished so far is a biased sample."""
    made = make_experiment(alice, make_dataset(alice, n=40), [{"name": "a", "kind": "push"}])
    runner = Runner(alice, made)
    slow, fast = runner.lease()["unit"], runner.lease()["unit"]
    runner.post(fast, [{"pos": e["pos"], "output": e["expected"]} for e in fast["examples"]])
    metric = live(alice, made["id"])["configs"][0]["metrics"]["accuracy"]
    assert (metric["n"], metric["value"], metric["provisional"]) == (0, None, {"n": 10, "value": 1.0})
    runner.post(slow, [{"pos": e["pos"], "output": "wrong"} for e in slow["examples"]])
    metric = live(alice, made["id"])["configs"][0]["metrics"]["accuracy"]
    assert (metric["n"], metric["value"]) == (20, 0.5)


def test_an_error_counts_in_favour_of_the_one_that_would_be_dropped(alice: Caller) -> None:
    configs = [{"name": n, "kind": "push"} for n in ("steady", "broken")]
    plan = {"policy": "race_default", "failures": "exclude"}
    made = make_experiment(alice, make_dataset(alice, n=60), configs, **plan)
    steady, broken = (Runner(alice, made, i) for i in range(2))
    rng = random.Random(1)
    for _ in range(4):
        unit = steady.lease()["unit"]
        steady.post(unit, [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]])
        unit = broken.lease()["unit"]
        rows = [
            {"pos": e["pos"], "output": e["expected"]}
            if rng.random() < 0.5
            else {"pos": e["pos"], "error": {"type": "timeout"}}
            for e in unit["examples"]
        ]
        broken.post(unit, rows)
    found = by_name(live(alice, made["id"]))
    assert found["broken"]["state"] == "running"
    assert found["broken"]["versus_leader"]["delta"] <= 0
    assert found["broken"]["n_error"] > 0
