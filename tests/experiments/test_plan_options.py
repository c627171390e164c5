"""Options of a plan: when a race is over, what failures mean, where configs wait, and how far they go."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.experiments.decisions import step
from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.definition.ranges import describe_evaluator_range
from tests.conftest import Caller
from tests.experiments.conftest import (
    EXACT,
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
from tests.experiments.pushing import PUSH, Runner, answer, decisions, mostly, states

TWO = [{"name": name, "kind": "push"} for name in "ab"]


def never(pos: int) -> bool:
    return False


def always(pos: int) -> bool:
    return True


def refused(alice: Caller, **plan: Any) -> list[str]:
    body: dict[str, Any] = {"name": "x", "configs": [PUSH]}
    body["plan"] = {"dataset_id": make_dataset(alice, n=20), "metrics": [EXACT]} | plan
    return [error["pointer"] for error in ok(alice.post("/v1/experiments", body), 422)["errors"]]


def runners_of(alice: Caller, made: Any) -> list[Runner]:
    return [Runner(alice, made, i) for i in range(len(made["configs"]))]


# When it is decided


def decided(alice: Caller, **plan: Any) -> tuple[Any, list[Runner]]:
    options = {"policy": "race_default", "stop_when_decided": True} | plan
    made = make_experiment(alice, make_dataset(alice, n=100), TWO, **options)
    good, bad = runners_of(alice, made)
    for _ in range(2):
        answer(good, always)
        answer(bad, never)
    return made, [good, bad]


def test_the_last_config_in_a_race_asks_no_more(alice: Caller) -> None:
    made, (good, _) = decided(alice)
    assert made["plan"]["stop_when_decided"] is True
    assert states(alice, made) == {"a": ("stopped", "decided"), "b": ("stopped", "policy")}
    view = live(alice, made["id"])
    assert (view["experiment"]["state"], view["leader"]) == ("done", good.config)
    assert [reason for reason, _, _ in decisions(alice, made)] == ["evidence", "decided"]
    assert good.lease()["unit"] is None
    assert recounted(alice, made["id"]) == []


def test_without_the_option_it_answers_the_rest(alice: Caller) -> None:
    made, (good, _) = decided(alice, stop_when_decided=False)
    assert states(alice, made)["a"] == ("running", None)
    assert good.run() == 80


def test_a_winner_that_a_person_resumes_answers_the_rest(alice: Caller) -> None:
    made, (good, _) = decided(alice)
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{good.config}/resume", {}))
    assert good.run() == 90
    assert states(alice, made)["a"] == ("completed", None)
    assert live(alice, made["id"])["experiment"]["state"] == "done"


def test_a_config_that_is_added_makes_it_a_race_again(alice: Caller) -> None:
    made, (good, _) = decided(alice)
    ok(alice.post(f"/v1/experiments/{made['id']}/configs", {"configs": [{"name": "c", "kind": "push"}]}))
    step.step(account_id=alice.account.pk, experiment_id=int(made["id"]))
    assert states(alice, made)["a"] == ("running", None)
    assert decisions(alice, made)[-1] == ("resumed", "a", "c")
    assert good.lease()["unit"] is not None


def test_nobody_wins_a_race_that_a_person_ended(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), TWO, policy="race_default", stop_when_decided=True)
    a, b = runners_of(alice, made)
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{b.config}/stop", {}))
    assert a.run() == 40


def test_workers_stop_with_the_race(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    configs = [chat(connection, model) for model in ("stub-accuracy-0.10-w@10", "stub-accuracy-0.95-b@10")]
    options = {"policy": "race_default", "stop_when_decided": True}
    made = make_experiment(alice, make_dataset(alice, n=400), configs, **options)
    run_units()
    view = live(alice, made["id"])
    assert view["experiment"]["state"] == "done"
    assert view["experiment"]["n_queries"] < 400
    assert {row["stop_reason"] for row in view["configs"]} == {"decided", "policy"}
    assert recounted(alice, made["id"]) == []


# Failures as evidence


@pytest.mark.parametrize(
    ("failures", "error_type", "state"),
    [
        ("worst", "timeout", "stopped"),
        ("worst", "bug", "stopped"),
        ("worst", "connection", "running"),
        ("worst", "rate_limited", "running"),
        ("exclude", "timeout", "running"),
    ],
)
def test_its_own_failures_speak_against_a_config(alice: Caller, failures: str, error_type: str, state: str) -> None:
    made = make_experiment(
        alice, make_dataset(alice, n=100), TWO, policy="race_default", failures=failures, num_shards=2
    )
    steady, broken = runners_of(alice, made)
    rng = random.Random(1)
    for _ in range(6):
        answer(steady, always)
        if unit := broken.lease()["unit"]:
            rows = [
                {"pos": e["pos"], "output": e["expected"]}
                if rng.random() < 0.5
                else {"pos": e["pos"], "error": {"type": error_type}}
                for e in unit["examples"]
            ]
            broken.post(unit, rows)
    row = by_name(live(alice, made["id"]))["b"]
    assert row["state"] == state
    metric = row["metrics"]["accuracy"]
    assert metric["n"] == row["n_ok"]
    assert metric["n_error"] == row["n_error"] > 0
    is_counted = state == "stopped"
    assert metric["rows"]["failed_as"] == ("worst" if is_counted else "excluded" if error_type == "timeout" else None)
    assert (row["versus_leader"]["delta"] < 0.0) == is_counted
    assert recounted(alice, made["id"]) == []


def test_an_option_of_a_race_needs_one(alice: Caller) -> None:
    assert refused(alice, stop_when_decided=True) == ["/plan/stop_when_decided"]


# Pauses


def test_configs_wait_at_shard_ends_until_they_are_resumed(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), TWO, num_shards=4, pause_at_shards=True)
    assert made["plan"]["pause_at_shards"] == [1, 2, 3]
    a, b = runners_of(alice, made)
    assert a.run() == 10
    assert states(alice, made) == {"a": ("stopped", "pause"), "b": ("running", None)}
    assert live(alice, made["id"])["experiment"]["state"] == "running"
    assert b.run() == 10
    assert live(alice, made["id"])["experiment"]["state"] == "idle"
    for n in (20, 30):
        ok(alice.post(f"/v1/experiments/{made['id']}/configs/resume", {"config_ids": "all"}))
        assert live(alice, made["id"])["experiment"]["state"] == "running"
        assert (a.run(), b.run()) == (10, 10)
        assert {row["watermark"] for row in live(alice, made["id"])["configs"]} == {n}
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{a.config}/resume", {}))
    assert a.run() == 10
    # One has answered all, the other waits: that is not the end.
    assert states(alice, made) == {"a": ("completed", None), "b": ("stopped", "pause")}
    assert live(alice, made["id"])["experiment"]["state"] == "idle"
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{b.config}/resume", {}))
    assert b.run() == 10
    assert live(alice, made["id"])["experiment"]["state"] == "done"
    assert recounted(alice, made["id"]) == []


def test_it_waits_at_the_shards_that_are_named(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), TWO[:1], num_shards=4, pause_at_shards=[2, 4])
    (runner,) = runners_of(alice, made)
    assert runner.run() == 20
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{runner.config}/resume", {}))
    assert runner.run() == 20
    assert states(alice, made)["a"] == ("completed", None)


def test_who_is_added_waits_where_the_others_are(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), TWO[:1], num_shards=4, pause_at_shards=True)
    (a,) = runners_of(alice, made)
    a.run()
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{a.config}/resume", {}))
    a.run()
    clone = ok(alice.post(f"/v1/experiments/{made['id']}/configs/{a.config}/clone", {"name": "c"}))["config"]
    c = Runner(alice, {**made, "configs": [clone]})
    assert c.run() == 20
    assert states(alice, made)["c"] == ("stopped", "pause")


def test_who_waits_stays_in_the_race(alice: Caller) -> None:
    options = {"policy": "race_default", "num_shards": 4, "pause_at_shards": True}
    made = make_experiment(alice, make_dataset(alice, n=120), TWO, **options)
    a, b = runners_of(alice, made)
    a.run()
    assert states(alice, made)["a"] == ("stopped", "pause")
    b.run(lambda e: "wrong")
    assert states(alice, made)["b"] == ("stopped", "policy")
    assert live(alice, made["id"])["leader"] == a.config


def test_workers_wait_at_shard_ends(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    configs = [chat(connection, "stub-echo", name=name, temperature=i) for i, name in enumerate("ab")]
    made = make_experiment(alice, make_dataset(alice, n=40), configs, num_shards=2, pause_at_shards=True)
    run_units()
    view = live(alice, made["id"])
    assert view["experiment"]["state"] == "idle"
    assert [(row["watermark"], row["n_done"], row["stop_reason"]) for row in view["configs"]] == [(20, 20, "pause")] * 2
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/resume", {"config_ids": "all"}))
    run_units()
    assert live(alice, made["id"])["experiment"]["state"] == "done"
    assert recounted(alice, made["id"]) == []


def test_a_shard_that_is_not_there_is_refused(alice: Caller) -> None:
    assert refused(alice, num_shards=4, pause_at_shards=[5]) == ["/plan/pause_at_shards"]
    assert refused(alice, limit=3, pause_at_shards=[4]) == ["/plan/pause_at_shards"]


# A part of the set


def test_a_part_of_the_set_speaks_of_all_of_it(alice: Caller) -> None:
    dataset = make_dataset(alice, n=100)
    made = make_experiment(alice, dataset, TWO, limit=30, num_shards=3)
    assert (made["plan"]["limit"], made["plan"]["n_examples"]) == (30, 100)
    for runner in runners_of(alice, made):
        assert runner.run(lambda e: e["expected"] if mostly(e["pos"]) else "wrong") == 30
    view = live(alice, made["id"])
    assert view["experiment"]["state"] == "done"
    assert view["experiment"]["shard_ends"] == [10, 20, 30]
    metric = view["configs"][0]["metrics"]["accuracy"]
    assert (metric["n"], metric["N"], metric["n_pending"]) == (30, 100, 70)
    # Of 30 out of 100 without replacement: not exact.
    assert metric["lower"] < metric["value"] < metric["upper"]
    assert metric["this_set"]["exact"] is False
    # All that was asked for is there, so nobody watches any more.
    assert metric["safe"] == "one look"
    assert recounted(alice, made["id"]) == []


def test_the_part_is_the_beginning_of_the_whole_order(alice: Caller) -> None:
    dataset = make_dataset(alice, n=40)
    orders = []
    for limit in (None, 7):
        made = make_experiment(alice, dataset, TWO[:1], limit=limit, seed=3)
        orders.append([e["id"] for e in Runner(alice, made).lease(n=40)["unit"]["examples"]])
    assert orders[1] == orders[0][:7]


def test_workers_go_as_far_as_the_limit(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    made = make_experiment(alice, make_dataset(alice, n=60), [chat(connection, "stub-echo")], limit=25)
    run_units()
    view = live(alice, made["id"])
    assert (view["experiment"]["state"], view["experiment"]["n_queries"]) == ("done", 25)
    assert recounted(alice, made["id"]) == []


def test_a_limit_is_within_the_set_and_counts_in_the_preview(alice: Caller) -> None:
    assert refused(alice, limit=21) == ["/plan/limit"]
    body: dict[str, Any] = {"name": "x", "configs": [PUSH]}
    body["plan"] = {"dataset_id": make_dataset(alice, n=20), "metrics": [EXACT], "limit": 5}
    found = ok(alice.post("/v1/experiments/preview", body))
    assert (found["n_examples"], found["n_queries"], found["configs"][0]["n_queries"]) == (20, 5, 5)


# The first failure


@pytest.mark.parametrize(("option", "other"), [("config", "running"), ("run", "stopped"), (True, "stopped")])
def test_the_first_failure_ends_a_config_or_the_run(alice: Caller, option: Any, other: str) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), TWO, abort_on_error=option)
    assert made["plan"]["abort_on_error"] == ("run" if option is True else option)
    a, b = runners_of(alice, made)
    answer(b, always)
    unit = a.lease()["unit"]
    rows = [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]]
    a.post(unit, [*rows[:-1], {"pos": rows[-1]["pos"], "error": {"type": "timeout"}}])
    found = states(alice, made)
    assert found["a"] == ("failed", "error")
    assert found["b"][0] == other
    assert decisions(alice, made)[0] == ("abort", "a", None)
    # What failed before a resume does not count again.
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{a.config}/resume", {}))
    assert answer(a, always)
    assert states(alice, made)["a"] == ("running", None)


@pytest.mark.parametrize("option", ["config", "run"])
def test_a_failure_in_the_last_batch_fails_its_config_too(alice: Caller, option: str) -> None:
    made = make_experiment(alice, make_dataset(alice, n=3), TWO, abort_on_error=option)
    a, b = runners_of(alice, made)
    for runner, failing in ((b, ()), (a, (1,))):
        unit = runner.lease()["unit"]
        assert len(unit["examples"]) == 3
        rows = [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]]
        for pos in failing:
            rows[pos] = {"pos": rows[pos]["pos"], "error": {"type": "timeout"}}
        runner.post(unit, rows)
    assert states(alice, made) == {"a": ("failed", "error"), "b": ("completed", None)}
    assert decisions(alice, made)[0] == ("abort", "a", None)
    view = live(alice, made["id"])
    assert (view["experiment"]["state"], view["leader"]) == ("done", b.config)
    # Whoever resumes it takes it as it is.
    ok(alice.post(f"/v1/experiments/{made['id']}/configs/{a.config}/resume", {}))
    assert states(alice, made)["a"] == ("completed", None)
    assert recounted(alice, made["id"]) == []


def test_a_run_whose_only_config_fails_at_its_end_has_failed(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=3), TWO[:1], abort_on_error="run")
    (runner,) = runners_of(alice, made)
    unit = runner.lease()["unit"]
    rows = [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]]
    runner.post(unit, [*rows[:2], {"pos": rows[2]["pos"], "error": {"type": "timeout"}}])
    assert states(alice, made)["a"] == ("failed", "error")
    assert live(alice, made["id"])["experiment"]["state"] == "failed"


def test_without_the_option_failures_are_counted(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=20), TWO[:1], abort_on_error=False)
    (runner,) = runners_of(alice, made)
    unit = runner.lease()["unit"]
    runner.post(unit, [{"pos": e["pos"], "error": {"type": "timeout"}} for e in unit["examples"][:1]])
    assert states(alice, made)["a"] == ("running", None)


# Strangers


def test_options_of_others_are_out_of_reach(alice: Caller, charlie: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=20), TWO[:1], pause_at_shards=True, limit=10)
    assert charlie.get(f"/v1/experiments/{made['id']}").status_code == 404
    resume = f"/v1/experiments/{made['id']}/configs/resume"
    assert charlie.post(resume, {"config_ids": "all"}).status_code == 404


# Ranges

STARS = {"name": "stars", "source": "client", "value_range": [0, 100]}


def test_a_range_much_wider_than_the_scores_is_named(alice: Caller) -> None:
    dataset = make_dataset(alice, n=40)
    made = make_experiment(alice, dataset, TWO, metrics=[STARS], policy="race_default")
    rng = random.Random(2)
    for runner in runners_of(alice, made):
        unit = runner.lease(n=20)["unit"]
        runner.post(
            unit, [{"pos": e["pos"], "output": "x", "scores": {"stars": rng.randint(1, 5)}} for e in unit["examples"]]
        )
    assert "wide_range" in live(alice, made["id"])["configs"][0]["metrics"]["stars"]["warnings"]
    plan = {"dataset_id": dataset, "metrics": [EXACT, STARS]}
    body: dict[str, Any] = {"name": "x", "configs": [PUSH], "plan": plan}
    for path in ("/v1/experiments/preview", "/v1/experiments"):
        found = ok(alice.post(path, body))
        (place,) = found["wide_ranges"]
        assert (found["warnings"], place["pointer"]) == (["wide_range"], "/plan/metrics/1/value_range")
        assert "between 1 and 5" in place["detail"]
    body["plan"]["metrics"] = [STARS | {"value_range": [1, 5]}]
    assert ok(alice.post("/v1/experiments", body))["warnings"] == []


def test_a_range_much_wider_than_an_evaluator_answers_is_named() -> None:
    wide = Metric("bleu", "score", value_range=(0.0, 100.0), runs="metrics-2026-11-28")
    assert describe_evaluator_range(wide) == "its evaluator answers 0 to 1"
    assert describe_evaluator_range(replace(wide, value_range=(0.0, 1.0))) is None


def test_what_others_scored_says_nothing(alice: Caller, charlie: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), TWO[:1], metrics=[STARS])
    Runner(alice, made).run(scores={"stars": 3})
    dataset = make_dataset(charlie, n=40)
    body = {"name": "x", "configs": [PUSH], "plan": {"dataset_id": dataset, "metrics": [STARS]}}
    assert ok(charlie.post("/v1/experiments/preview", body))["warnings"] == []
