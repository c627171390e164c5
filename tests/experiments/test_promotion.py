"""Which experiments enter the histories of production by themselves: races, and runs of one config with new examples."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import EXACT, make_dataset, make_experiment, ok
from tests.experiments.pushing import PUSH, Runner, answering

PATH = "/v1/history?evaluator=exact-match&strategy=full-history&include_experiments=promoted"
GOLDEN = [{"id": str(i), "input": f"q{i}", "output": "yes", "expected": "yes" if i % 3 else "no"} for i in range(6)]


def run(caller: Caller, dataset: str, configs: int = 1, *, is_tie: bool = False, **plan: Any) -> dict[str, Any]:
    """Run an experiment of so many configs to its end, and return it; the first one leads, unless it is a tie."""
    made = make_experiment(caller, dataset, [{**PUSH, "name": f"c{i}"} for i in range(configs)], **plan)
    for i in range(configs):
        Runner(caller, made, i).run(answering(set() if is_tie else set(range(i))))
    return ok(caller.get(f"/v1/experiments/{made['id']}"))["experiment"]


def gate(caller: Caller, rows: list[dict[str, Any]] = GOLDEN, **body: Any) -> str:
    """Score a version of an application in one call, and return the id of its experiment."""
    return ok(caller.post("/v1/score/batch", {"rows": rows, "metrics": [EXACT]} | body))["experiment_id"]


def interval(caller: Caller, query: str = "", path: str = PATH) -> dict[str, Any]:
    return ok(caller.get(path + query))["confidence_interval"]


def n_promoted(caller: Caller) -> int:
    return interval(caller)["sources"]["experiment"]["n"]


def test_fifty_runs_of_a_gate_count_its_examples_once(alice: Caller, charlie: Caller) -> None:
    for i in range(20):
        alice.evaluate("exact-match", output="x", label="xy"[i % 10 == 0], app="shop")
    gate(alice)
    once = interval(alice)
    assert once["sources"]["evaluation"] == {"n": 20, "rate": 0.9}
    assert once["sources"]["experiment"] == {"n": 6, "rate": pytest.approx(4 / 6)}
    for _ in range(49):
        gate(alice)

    assert interval(alice) == once
    assert (
        interval(alice, "&include_experiments=all", path=PATH.rpartition("&")[0])["sources"]["experiment"]["n"] == 300
    )
    assert interval(alice, "&scope.app=shop")["sources"]["experiment"]["n"] == 0
    # Another account knows nothing of these examples.
    assert n_promoted(charlie) == 0
    gate(charlie)
    assert n_promoted(charlie) == 6


def test_the_same_examples_are_known_by_their_content(alice: Caller) -> None:
    dataset = make_dataset(alice, n=5)
    run(alice, dataset)
    run(alice, dataset)
    run(alice, make_dataset(alice, n=5))
    assert n_promoted(alice) == 5
    run(alice, make_dataset(alice, n=5, seed=2))
    assert n_promoted(alice) == 10


def test_each_history_has_the_examples_once(alice: Caller) -> None:
    gate(alice)
    longer = {"name": "overlap", "evaluator": "metrics", "criteria": "compute-rouge"}
    gate(alice, metrics=[EXACT, longer])

    assert n_promoted(alice) == 6
    assert ok(alice.get("/v1/history?evaluator=metrics&profile=compute-rouge&include_experiments=promoted"))["n"] == 6


def test_the_winner_of_a_comparison_enters_though_its_examples_are_known(alice: Caller) -> None:
    dataset = make_dataset(alice, n=5)
    for n in (5, 10, 15):
        run(alice, dataset, configs=2)
        assert n_promoted(alice) == n


def test_a_tie_promotes_nothing(alice: Caller) -> None:
    """Nobody leads; each of the tied configs can be promoted on request."""
    made = run(alice, make_dataset(alice, n=5), configs=2, is_tie=True)
    assert n_promoted(alice) == 0
    config = made["configs"][1]["id"]
    assert ok(alice.post(f"/v1/experiments/{made['id']}/configs/{config}/promote", {}))["n_promoted"] == 5


def test_a_plan_says_whether_its_leader_enters(alice: Caller) -> None:
    dataset = make_dataset(alice, n=5)
    never = [run(alice, dataset, promote=False), run(alice, dataset, configs=2, promote=False)]
    assert [one["plan"]["promote"] for one in never] == [False, False]
    assert n_promoted(alice) == 0
    config = never[0]["configs"][0]["id"]
    assert ok(alice.post(f"/v1/experiments/{never[0]['id']}/configs/{config}/promote", {}))["n_promoted"] == 5
    assert run(alice, dataset)["plan"]["promote"] is None
    assert n_promoted(alice) == 5
    run(alice, dataset, promote=True)
    assert n_promoted(alice) == 10
    gate(alice, promote=False)
    assert n_promoted(alice) == 10


def test_outputs_that_answer_nothing_are_new_ones(alice: Caller) -> None:
    rows = [{"output": "yes", "expected": "yes"}, {"output": "no", "expected": "yes"}]
    for n in (2, 4):
        gate(alice, rows)
        assert n_promoted(alice) == n
    gate(alice, rows, promote=False)
    assert n_promoted(alice) == 4


def test_what_is_no_answer_to_it_is_refused(alice: Caller) -> None:
    body = {"rows": GOLDEN, "metrics": [EXACT], "promote": "often"}
    assert ok(alice.post("/v1/score/batch", body), 422)["errors"][0]["pointer"] == "/promote"
    plan = {"dataset_id": make_dataset(alice, n=5), "metrics": [EXACT], "promote": "often"}
    refused = ok(alice.post("/v1/experiments", {"name": "x", "plan": plan, "configs": [PUSH]}), 422)
    assert refused["errors"][0]["pointer"] == "/plan/promote"
