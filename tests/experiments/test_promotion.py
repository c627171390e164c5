"""Which experiments enter the histories of production: those that ask for it, with examples that are new there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import EXACT, live, make_dataset, make_experiment, ok
from tests.experiments.pushing import PUSH, Runner, decisions

PATH = "/v1/history?evaluator=exact-match&strategy=full-history&include_experiments=promoted"
GOLDEN = [{"id": str(i), "input": f"q{i}", "output": "yes", "expected": "yes" if i % 3 else "no"} for i in range(6)]


def run(caller: Caller, dataset: str, configs: int = 1, **plan: Any) -> dict[str, Any]:
    """Run an experiment of so many configs to its end, and return it."""
    plan = {"promote": True} | plan
    made = make_experiment(caller, dataset, [{**PUSH, "name": f"c{i}"} for i in range(configs)], **plan)
    for i in range(configs):
        # The first is right more often: a tie has no leader.
        Runner(caller, made, i).run(lambda e, i=i: "wrong" if e["pos"] < i else e["expected"])
    return ok(caller.get(f"/v1/experiments/{made['id']}"))["experiment"]


def gate(caller: Caller, rows: list[dict[str, Any]] = GOLDEN, **body: Any) -> str:
    """Score a version of an application in one call, and return the id of its experiment."""
    body = {"rows": rows, "metrics": [EXACT], "promote": True} | body
    return ok(caller.post("/v1/score/batch", body))["experiment_id"]


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


@pytest.mark.parametrize("configs", [1, 2, 4])
def test_the_same_examples_enter_once_whatever_the_number_of_configs(alice: Caller, configs: int) -> None:
    dataset = make_dataset(alice, n=5)
    run(alice, dataset, configs=2)
    assert n_promoted(alice) == 5
    again = run(alice, dataset, configs=configs)
    assert n_promoted(alice) == 5
    assert decisions(alice, again) == [("promotion_repeats", "c0", None)]


def test_nothing_enters_unless_the_plan_asks_for_it(alice: Caller) -> None:
    dataset = make_dataset(alice, n=5)
    unset = [run(alice, dataset, promote=value, configs=n) for value in (None, False) for n in (1, 2)]
    assert [row["plan"]["promote"] for row in unset] == [False] * 4
    ok(alice.post("/v1/score/batch", {"rows": GOLDEN, "metrics": [EXACT]}))
    assert n_promoted(alice) == 0
    run(alice, dataset)
    assert n_promoted(alice) == 5


def test_a_tie_promotes_nothing(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=5), [{**PUSH, "name": name} for name in "ab"], promote=True)
    for i in range(2):
        Runner(alice, made, i).run()
    assert live(alice, made["id"])["experiment"]["state"] == "done"
    assert n_promoted(alice) == 0


def test_a_config_that_fails_often_is_left_to_a_person(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=50), [PUSH], promote=True)
    runner = Runner(alice, made)
    while unit := runner.lease()["unit"]:
        rows = [
            {"pos": e["pos"]} | ({"output": e["expected"]} if e["pos"] else {"error": {"type": "bug", "message": "x"}})
            for e in unit["examples"]
        ]
        runner.post(unit, rows)
    assert live(alice, made["id"])["experiment"]["state"] == "done"
    assert n_promoted(alice) == 0
    assert decisions(alice, made) == [("promotion_failures", "mine", None)]
    path = f"/v1/experiments/{made['id']}/configs/{runner.config}/promote"
    assert ok(alice.post(path, {}))["n_promoted"] >= 49


def test_null_outputs_count_as_failed_ones(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=50), [PUSH], promote=True)
    Runner(alice, made).run(lambda e: e["expected"] if e["pos"] % 10 else None)
    assert live(alice, made["id"])["experiment"]["state"] == "done"
    assert n_promoted(alice) == 0
    assert decisions(alice, made) == [("promotion_failures", "mine", None)]


def test_a_deleted_experiment_leaves_its_examples_known(alice: Caller) -> None:
    dataset = make_dataset(alice, n=5)
    first = run(alice, dataset)
    assert alice.call("DELETE", f"/v1/experiments/{first['id']}").status_code == 204
    again = run(alice, dataset)
    assert n_promoted(alice) == 5
    assert decisions(alice, again) == [("promotion_repeats", "c0", None)]
    path = f"/v1/experiments/{again['id']}/configs/{again['configs'][0]['id']}/promote"
    assert ok(alice.post(path, {}), 422)["errors"][0]["pointer"] == "/force"
    # One that is new brings them all in: only a whole repetition is known by its samples.
    run(alice, make_dataset(alice, n=5, seed=2))
    assert n_promoted(alice) == 10


def test_a_person_who_promotes_the_same_examples_must_insist(alice: Caller) -> None:
    dataset = make_dataset(alice, n=5)
    first = run(alice, dataset, configs=2)
    second = run(alice, dataset, promote=False)
    for made, place in ((first, 1), (second, 0)):
        path = f"/v1/experiments/{made['id']}/configs/{made['configs'][place]['id']}/promote"
        refused = ok(alice.post(path, {}), 422)
        assert refused["errors"][0]["pointer"] == "/force"
        assert "exact-match" in refused["detail"] and "force" in refused["detail"]
    leader = f"/v1/experiments/{first['id']}/configs/{first['configs'][0]['id']}/promote"
    assert ok(alice.post(leader, {}))["n_promoted"] == 0
    assert n_promoted(alice) == 5
    assert ok(alice.post(path, {"force": True}))["n_promoted"] == 5
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
