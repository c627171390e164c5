"""Examples that are kept for the chosen config: they decide nothing, and give an ordinary interval of the winner."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.cli.looking.follower import format_confirmation
from evalsvc.experiments.decisions.step import step
from evalsvc.reports.words import leading_sentence
from tests.conftest import Caller
from tests.experiments.conftest import (
    EXACT,
    by_name,
    chat,
    finish,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    recounted,
)
from tests.experiments.pushing import PUSH, Runner, decisions, states

NAMES = "abcd"
EVERY = {"a": 2, "b": 3, "c": 9, "d": 4}
"""Every so manyth answer of a config is wrong: c is the best."""


def prepare(caller: Caller, names: str = NAMES, n: int = 60, **plan: Any) -> tuple[Any, dict[str, Runner]]:
    configs = [{**PUSH, "name": name} for name in names]
    made = make_experiment(caller, make_dataset(caller, n=n), configs, **{"confirm": 20, **plan})
    return made, {name: Runner(caller, made, i) for i, name in enumerate(names)}


def run(runner: Runner, every: int) -> int:
    return runner.run(lambda e: "wrong" if e["pos"] % every == 0 else e["expected"])


def run_all(runners: dict[str, Runner]) -> list[int]:
    return [run(runner, EVERY[name]) for name, runner in runners.items()]


def plan_again(caller: Caller, made: Any) -> None:
    """Run the planner again, as another process may."""
    assert step(account_id=caller.account.pk, experiment_id=int(made["id"]), wait=True)


def confirmation(caller: Caller, made: Any) -> Any:
    return live(caller, made["id"])["confirmation"]


def test_the_last_examples_are_those_of_the_winner_and_the_baseline(alice: Caller) -> None:
    made, runners = prepare(alice, baseline="a")
    assert made["plan"]["confirm"] == 20
    assert live(alice, made["id"])["experiment"]["shard_ends"][-1] == 40
    assert [run(runners[name], EVERY[name]) for name in "abc"] == [40] * 3
    # Nobody is given more while one of them has not come so far.
    assert [run(runners[name], EVERY[name]) for name in "abc"] == [0] * 3
    assert confirmation(alice, made) is None
    assert run(runners["d"], EVERY["d"]) == 40
    before = by_name(live(alice, made["id"]))
    assert {name: row[0] for name, row in states(alice, made).items()} == {
        "a": "running", "b": "completed", "c": "running", "d": "completed"
    }  # fmt: skip
    assert decisions(alice, made) == [("confirm", "c", None)]
    plan_again(alice, made)
    assert decisions(alice, made) == [("confirm", "c", None)]
    assert confirmation(alice, made) | {"rows": None} == {
        "config_id": runners["c"].config, "config": "c", "metric": "accuracy", "n": 0, "n_planned": 20, "n_tied": 1,
        "value": None, "lower": None, "upper": None, "level": 0.95, "method": None, "rows": None,
    }  # fmt: skip

    # The winner is worse there: that is told, and changes no decision.
    assert (run(runners["b"], 2), run(runners["c"], 2), run(runners["a"], 50)) == (0, 20, 20)
    view = live(alice, made["id"])
    assert view["experiment"]["state"] == "done"
    assert {row["state"] for row in view["configs"]} == {"completed"}
    found = view["confirmation"]
    assert (found["n"], found["value"]) == (20, 0.5)
    assert 0.2 < found["lower"] < 0.35 and 0.65 < found["upper"] < 0.8
    assert found["rows"] == {
        "n": 20, "n_distinct": None, "n_failed": 0, "failed_as": None, "n_missing": 0, "n_undecided": 0,
        "chosen_among": None,
        "weighted": False, "n_eff": None, "sources": {},
    }  # fmt: skip
    after = by_name(view)
    assert view["leader"] == runners["c"].config
    for name in NAMES:
        for figure in ("n", "value", "lower", "upper"):
            assert after[name]["metrics"]["accuracy"][figure] == before[name]["metrics"]["accuracy"][figure]
        assert after[name]["watermark"] == 40
    assert (after["c"]["n_done"], after["b"]["n_done"]) == (60, 40)
    assert recounted(alice, made["id"]) == []


def test_of_configs_that_are_tied_the_first_is_confirmed(alice: Caller) -> None:
    made, runners = prepare(alice, "ab")
    for runner in runners.values():
        assert run(runner, 3) == 40
    assert [run(runner, 3) for runner in runners.values()] == [20, 0]
    view = live(alice, made["id"])
    assert (view["experiment"]["state"], view["leader"], view["confirmation"]["config"]) == ("done", None, "a")
    assert view["confirmation"]["n_tied"] == 2


@pytest.mark.parametrize(("failures", "value", "failed_as"), [("worst", 0.75, "worst"), ("exclude", 1.0, "excluded")])
def test_failed_outputs_of_a_confirmation_count_as_elsewhere(
    alice: Caller, failures: str, value: float, failed_as: str
) -> None:
    made, runners = prepare(alice, "ab", failures=failures)
    assert [run(runners["a"], 9), run(runners["b"], 2)] == [40, 40]
    assert runners["a"].run(lambda e: None if e["pos"] % 4 == 0 else e["expected"]) == 20
    found = confirmation(alice, made)
    assert (found["config"], found["value"], found["n"]) == ("a", value, 15)
    assert (found["rows"]["n_failed"], found["rows"]["failed_as"]) == (5, failed_as)
    assert (found["upper"] < 1.0) == (failures == "worst")


def test_many_missing_scores_of_a_confirmation_leave_bounds(alice: Caller) -> None:
    made, runners = prepare(alice, "ab")
    assert [run(runners["a"], 9), run(runners["b"], 2)] == [40, 40]
    outage = {"error": {"type": "connection", "message": "down"}}
    while unit := runners["a"].lease()["unit"]:
        rows = [
            {"pos": e["pos"]} | (outage if e["pos"] % 4 == 0 else {"output": e["expected"]}) for e in unit["examples"]
        ]
        runners["a"].post(unit, rows)
    found = confirmation(alice, made)
    assert (found["value"], found["rows"]["n_missing"]) == (None, 5)
    assert found["lower"] < 0.6 and found["upper"] == 1.0
    assert format_confirmation(found).startswith("confirmed a: accuracy [")
    report = ok(alice.get(f"/v1/experiments/{made['id']}/report"))
    assert "Confirmed: a has accuracy" in leading_sentence(report["summary"])


def test_a_confirmation_of_known_examples_enters_no_history_again(alice: Caller) -> None:
    first, runners = prepare(alice, "ab", promote=True)
    assert [run(runners["a"], 9), run(runners["b"], 2), run(runners["a"], 9)] == [40, 40, 20]
    history = "/v1/history?evaluator=exact-match&include_experiments=promoted"
    assert ok(alice.get(history))["n"] == 20
    assert alice.call("DELETE", f"/v1/experiments/{first['id']}").status_code == 204
    again, runners = prepare(alice, "ab", promote=True)
    assert [run(runners["a"], 9), run(runners["b"], 2), run(runners["a"], 9)] == [40, 40, 20]
    assert ok(alice.get(history))["n"] == 20
    assert ("promotion_repeats", "a", None) in decisions(alice, again)


def test_only_the_confirmation_enters_a_history(alice: Caller) -> None:
    made, runners = prepare(alice, promote=True)
    run_all(runners)
    assert ok(alice.get("/v1/history?evaluator=exact-match"))["n"] == 0
    assert run(runners["c"], 9) == 20
    interval = ok(alice.get("/v1/history?evaluator=exact-match&include_experiments=promoted"))["confidence_interval"]
    assert interval["sources"]["experiment"]["n"] == 20
    path = f"/v1/experiments/{made['id']}/configs/{runners['c'].config}/promote"
    assert ok(alice.post(path, {}))["n_promoted"] == 0
    assert recounted(alice, made["id"]) == []


def test_pauses_come_before_the_confirmation(alice: Caller) -> None:
    made, runners = prepare(alice, "cb", num_shards=2, pause_at_shards=True)
    for _ in range(2):
        assert run_all(runners) == [20, 20]
        resume = ok(alice.post(f"/v1/experiments/{made['id']}/configs/resume", {"config_ids": "all"}))
    assert resume["changed"] == []
    assert run_all(runners) == [20, 0]
    assert live(alice, made["id"])["experiment"]["state"] == "done"
    assert recounted(alice, made["id"]) == []


def test_a_paused_config_holds_the_choice_back_until_it_is_stopped(alice: Caller) -> None:
    made, runners = prepare(alice, "abc", num_shards=2, pause_at_shards=True)
    run_all(runners)
    for name in "bc":
        ok(alice.post(f"/v1/experiments/{made['id']}/configs/{runners[name].config}/resume", {}))
        assert run(runners[name], EVERY[name]) == 20
    assert confirmation(alice, made) is None
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{runners['a'].config}/stop", {}))
    plan_again(alice, made)
    assert confirmation(alice, made)["config"] == "c"
    assert run(runners["c"], 9) == 20
    assert live(alice, made["id"])["experiment"]["state"] == "done"


def test_what_is_stopped_while_it_is_confirmed_goes_on_when_it_is_resumed(alice: Caller) -> None:
    made, runners = prepare(alice, promote=True)
    run_all(runners)
    path = f"/v1/experiments/{made['id']}/configs/{runners['c'].config}"
    unit = runners["c"].lease()["unit"]
    runners["c"].post(unit, [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]])
    ok(alice.post(f"{path}/stop", {}))
    view = live(alice, made["id"])
    assert (view["experiment"]["state"], view["confirmation"]["value"]) == ("idle", None)
    assert view["experiment"]["finished_at"] is not None
    assert ok(alice.get("/v1/history?evaluator=exact-match"))["n"] == 0
    ok(alice.post(f"{path}/resume", {}))
    assert run(runners["c"], 9) == 10
    view = live(alice, made["id"])
    assert (view["experiment"]["state"], view["confirmation"]["n"]) == ("done", 20)
    assert recounted(alice, made["id"]) == []


def test_a_budget_that_is_spent_ends_the_confirmation(alice: Caller) -> None:
    made, runners = prepare(alice, "cb", budget={"queries": 90}, promote=True)
    assert run_all(runners) == [40, 40]
    assert run(runners["c"], 3) == 10
    view = live(alice, made["id"])
    assert (view["experiment"]["state"], states(alice, made)["c"]) == ("idle", ("stopped", "budget"))
    assert (view["confirmation"]["n"], view["confirmation"]["value"]) == (10, None)
    assert ok(alice.get("/v1/history?evaluator=exact-match"))["n"] == 0


def test_what_is_added_later_is_not_confirmed(alice: Caller) -> None:
    made, runners = prepare(alice)
    run_all(runners)
    clone = ok(alice.post(f"/v1/experiments/{made['id']}/configs/{runners['c'].config}/clone", {"name": "e"}))
    late = Runner(alice, {**made, "configs": [clone["config"]]})
    assert run(late, 1000) == 40
    assert states(alice, made)["e"] == ("completed", None)
    assert run(runners["c"], 9) == 20
    assert confirmation(alice, made)["config"] == "c"
    assert live(alice, made["id"])["experiment"]["state"] == "done"


@pytest.mark.parametrize(
    ("plan", "pointer"),
    [
        ({"confirm": 60}, "/plan/confirm"),
        ({"confirm": 20, "limit": 20}, "/plan/confirm"),
        ({"confirm": 0}, "/plan/confirm"),
        ({"confirm": 5, "policy": "race_default", "stop_when_decided": True}, "/plan/confirm"),
    ],
)
def test_a_confirmation_that_cannot_be_is_refused(alice: Caller, plan: dict[str, Any], pointer: str) -> None:
    body = {"dataset_id": make_dataset(alice, n=60), "metrics": [EXACT], **plan}
    refused = ok(alice.post("/v1/experiments", {"name": "x", "plan": body, "configs": [PUSH]}), 422)
    assert [error["pointer"] for error in refused["errors"]] == [pointer]


def test_reports_pages_and_workers_speak_of_the_confirmation(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    configs = [chat(connection, "stub-echo", name=name, temperature=i) for i, name in enumerate("ab")]
    made = make_experiment(alice, make_dataset(alice, n=40), configs, confirm=15, baseline="b", micro_batch=5)
    finish(alice, made["id"])
    view = live(alice, made["id"])
    assert (view["experiment"]["n_queries"], view["confirmation"]["n"]) == (80, 15)
    report = ok(alice.get(f"/v1/experiments/{made['id']}/report"))
    assert report["summary"]["confirmation"] == view["confirmation"]
    assert f"Confirmed: {view['confirmation']['config']}" in leading_sentence(report["summary"])
    assert "on 15 examples that decided nothing." in leading_sentence(report["summary"])
    assert "n = 15 examples that decided nothing" in format_confirmation(view["confirmation"])
    assert recounted(alice, made["id"]) == []
