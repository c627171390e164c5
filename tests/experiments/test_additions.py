"""Metrics that are added to stored outputs: nothing runs again, every score once, and no decision changes."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.experiments.runner.units.unit import MAX_LEASES
from evalsvc.stats.formulas.quantiles import compute_quantiles
from tests.conftest import Caller, scores_of
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
from tests.experiments.pushing import Runner

TWO = [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}]
CLEAN = {"name": "clean", "evaluator": "toxicity"}
BLEU = {"name": "bleu", "evaluator": "metrics", "criteria": "compute-bleu"}
RIGHT = {"name": "right", "evaluator": "exact-match", "source": "pass"}
MINE = {"name": "mine", "source": "client", "value_range": [0, 1]}


def metrics_path(made: Any) -> str:
    return f"/v1/experiments/{made['id']}/metrics"


def add(caller: Caller, made: Any, *metrics: Any, status: int = 200) -> Any:
    return ok(caller.post(metrics_path(made), {"metrics": list(metrics)}), status)


def finished(caller: Caller, n: int = 25, configs: Any = TWO, **plan: Any) -> Any:
    """An experiment whose first config is right in four of five cases and whose second never is."""
    made = make_experiment(caller, make_dataset(caller, n=n), configs, **plan)
    Runner(caller, made).run(lambda e: e["expected"] if e["pos"] % 5 else "wrong")
    for i in range(1, len(configs)):
        Runner(caller, made, i).run(lambda e: "wrong")
    return made


def rounded(found: Any) -> Any:
    """The same with nine digits: sums were added up in another order."""
    if isinstance(found, dict):
        return {name: rounded(one) for name, one in found.items()}
    return round(found, 9) if isinstance(found, float) else found


def estimates(caller: Caller, made: Any, config: str = "a") -> Any:
    return by_name(live(caller, made["id"]))[config]["metrics"]


def test_it_scores_stored_outputs_as_if_the_metric_had_been_there(alice: Caller) -> None:
    late, early = finished(alice), finished(alice, metrics=[EXACT, CLEAN, RIGHT])
    run_units()
    before = live(alice, late["id"])
    (told, _) = add(alice, late, CLEAN, RIGHT)["metrics"]
    assert (told["name"], told["n_scored"], told["n_pending"]) == ("clean", 0, 50)
    assert told["added_at"]
    waiting = estimates(alice, late)["clean"]
    assert (waiting["n"], waiting["n_pending"], waiting["value"]) == (0, 25, None)
    run_units()
    assert recounted(alice, late["id"]) == []
    for config in ("a", "b"):
        found, wanted = estimates(alice, late, config), estimates(alice, early, config)
        for name in ("clean", "right", "accuracy"):
            if name != "accuracy":
                found[name]["warnings"].remove("added_later")
            assert rounded(found[name]) == rounded(wanted[name])
    after = live(alice, late["id"])
    assert after["experiment"] == before["experiment"]
    assert after["leader"] == before["leader"]
    assert [config["epoch"] for config in after["configs"]] == [config["epoch"] for config in before["configs"]]
    listed = ok(alice.get(metrics_path(late)))["metrics"]
    assert [(row["name"], row["n_scored"], row["n_pending"], bool(row["added_at"])) for row in listed] == [
        ("accuracy", 50, 0, False),
        ("clean", 50, 0, True),
        ("right", 50, 0, True),
    ]


def test_what_was_added_holds_for_one_look(alice: Caller) -> None:
    graded = {"name": "graded", "source": "client", "value_range": [1, 5]}
    made = make_experiment(alice, make_dataset(alice, n=40), TWO[:1], num_shards=4)
    runner = Runner(alice, made)

    def answer(n: int) -> None:
        for _ in range(n // 10):
            unit = runner.lease()["unit"]
            runner.post(
                unit, [{"pos": e["pos"], "output": e["expected"] if e["pos"] % 3 else "x"} for e in unit["examples"]]
            )

    answer(20)
    add(alice, made, RIGHT, graded)
    run_units()
    outputs = ok(alice.get(f"/v1/experiments/{made['id']}/results", limit=100))["results"]
    rows = [{"output_id": row["id"], "value": 1 + i % 5} for i, row in enumerate(outputs)]
    ok(alice.post(f"/v1/experiments/{made['id']}/scores", {"metric": "graded", "scores": rows}))
    shown = estimates(alice, made)
    assert shown["accuracy"]["safe"] == "safe while watched"
    assert shown["accuracy"]["decision_interval"] is not None
    for name in ("right", "graded"):
        assert (shown[name]["n"], shown[name]["safe"]) == (20, "one look")
        assert "one_look" not in shown[name]["new_data"]
        assert "added_later" in shown[name]["warnings"]
        assert (shown[name]["decision_interval"], shown[name]["reason"]) == (None, "added_later")
    points = ok(alice.get(f"/v1/experiments/{made['id']}/looks"))["looks"][runner.config]
    assert [(one["metric"], one["shard"], one["n"], one["label"]) for one in points] == [
        ("accuracy", 1, 10, "one look"),
        ("accuracy", 2, 20, "one look"),
        ("graded", 2, 20, "post_hoc"),
        ("right", 2, 20, "post_hoc"),
    ]
    wanted, found = shown["right"], points[3]
    assert (found["value"], found["lower"], found["upper"]) == tuple(wanted[key] for key in ("value", "lower", "upper"))
    answer(20)
    run_units()
    shown = estimates(alice, made)
    assert shown["right"]["decision_interval"] is not None
    assert shown["right"]["this_set"]["exact"]
    points = ok(alice.get(f"/v1/experiments/{made['id']}/looks"))["looks"][runner.config]
    assert [(one["shard"], one["n"]) for one in points if one["metric"] == "right"] == [(4, 40)]
    assert recounted(alice, made["id"]) == []


@pytest.mark.parametrize("kind", ["algebraic", "distributive"])
def test_an_added_latency_has_the_quantiles_of_what_was_measured(alice: Caller, kind: str) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), TWO[:1])
    runner = Runner(alice, made)
    held = None
    for i in range(3):
        unit = runner.lease()["unit"]
        if i == 1:
            held = unit
            continue
        rows = [{"pos": e["pos"], "output": "x", "latency_ms": float(e["pos"] ** 2)} for e in unit["examples"]]
        runner.post(unit, rows)
    assert held is not None
    add(alice, made, {"name": "ms", "source": "latency_ms", "type": kind, "higher_is_better": False})
    run_units()
    shown = estimates(alice, made)["ms"]
    # What lies behind the gap is scored, and not yet counted.
    expected = compute_quantiles([float(pos**2) for pos in range(10)])
    assert (shown["n"], shown["provisional"]["n"]) == (10, 20)
    assert [(one["name"], one["lower"], one["value"], one["upper"]) for one in shown["quantiles"]] == [
        (one.name, one.lower, one.value, one.upper) for one in expected
    ]


def test_the_history_learns_of_each_output_once(alice: Caller) -> None:
    made = finished(alice, n=10, configs=TWO[:1])
    add(alice, made, BLEU)
    run_units()
    assert len(scores_of(alice, "metrics")) == 10
    add(alice, made, BLEU)
    run_units()
    assert len(scores_of(alice, "metrics")) == 10


def test_a_name_that_the_plan_has_is_refused_and_nothing_is_added(alice: Caller) -> None:
    made = finished(alice, n=5)
    answer = add(alice, made, BLEU, EXACT, status=422)
    assert (answer["code"], answer["errors"][0]["pointer"]) == ("already_exists", "/metrics/1/name")
    assert [row["name"] for row in ok(alice.get(metrics_path(made)))["metrics"]] == ["accuracy"]
    assert recounted(alice, made["id"]) == []


def test_asking_again_for_the_same_adds_nothing(alice: Caller) -> None:
    made = finished(alice, n=5)
    first = add(alice, made, BLEU)
    run_units()
    again = add(alice, made, BLEU, CLEAN)
    assert again["metrics"][0]["added_at"] == first["metrics"][0]["added_at"]
    assert [(row["name"], row["n_pending"]) for row in again["metrics"]] == [("bleu", 0), ("clean", 10)]
    other = add(alice, made, BLEU | {"higher_is_better": False}, status=422)
    assert other["errors"][0]["pointer"] == "/metrics/0/name"


def test_it_says_what_is_wrong_with_a_metric(alice: Caller) -> None:
    made = finished(alice, n=5)
    for body, pointer in (
        ({"name": "x"}, "/metrics/0"),
        ({"name": "x", "evaluator": "no-such"}, "/metrics/0/evaluator"),
        ({"name": "x", "evaluator": "metrics", "typo": 1}, "/metrics/0/typo"),
    ):
        assert add(alice, made, body, status=422)["errors"][0]["pointer"] == pointer
    assert ok(alice.post(metrics_path(made), {"metrics": []}), 422)["errors"][0]["pointer"] == "/metrics"


def test_a_stranger_finds_no_metrics(alice: Caller, charlie: Caller) -> None:
    made = finished(alice, n=5)
    assert add(charlie, made, BLEU, status=404)["code"] == "not_found"
    ok(charlie.get(metrics_path(made)), 404)
    body = {"metric": "mine", "scores": [{"output_id": "1", "value": 1}]}
    ok(charlie.post(f"/v1/experiments/{made['id']}/scores", body), 404)


def test_outputs_that_come_later_are_scored_as_well(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=40), TWO[:1])
    runner = Runner(alice, made)
    unit = runner.lease(n=10)["unit"]
    held = runner.lease(n=10)["unit"]
    runner.post(unit, [{"pos": e["pos"], "output": e["expected"]} for e in unit["examples"]])
    add(alice, made, CLEAN)
    run_units()
    assert estimates(alice, made)["clean"]["n"] == 10
    runner.run()
    run_units()
    # Positions 10 to 19 are still with somebody: what lies behind them is scored and not yet read.
    assert (estimates(alice, made)["clean"]["n"], estimates(alice, made)["clean"]["provisional"]["n"]) == (10, 30)
    assert recounted(alice, made["id"]) == []
    runner.post(held, [{"pos": e["pos"], "output": "x"} for e in held["examples"]])
    run_units()
    found = estimates(alice, made)
    assert (found["clean"]["n"], found["accuracy"]["n"], found["accuracy"]["value"]) == (40, 40, 0.75)
    assert live(alice, made["id"])["experiment"]["state"] == "done"
    assert recounted(alice, made["id"]) == []


def test_a_config_that_is_added_later_is_scored_as_well(alice: Caller) -> None:
    made = finished(alice, n=10, configs=TWO[:1])
    add(alice, made, CLEAN)
    run_units()
    added = ok(alice.post(f"/v1/experiments/{made['id']}/configs", {"configs": [{"name": "c", "kind": "push"}]}))
    Runner(alice, {"id": made["id"], "configs": added["configs"]}).run()
    run_units()
    found = by_name(live(alice, made["id"]))["c"]
    assert found["metrics"]["clean"]["n_pending"] == 0
    assert recounted(alice, made["id"]) == []


def test_failed_outputs_fail_every_metric_that_is_added(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=10), TWO[:1])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    rows = [{"pos": e["pos"], "output": "x"} for e in unit["examples"][:8]]
    runner.post(unit, [*rows, *({"pos": pos, "error": {"type": "bug"}} for pos in (8, 9))])
    add(alice, made, CLEAN, MINE)
    run_units()
    found = estimates(alice, made)
    assert (found["clean"]["n"], found["clean"]["n_error"], found["clean"]["n_pending"]) == (8, 2, 0)
    assert (found["mine"]["n"], found["mine"]["n_error"]) == (0, 0)
    metrics = ok(alice.get(metrics_path(made)))["metrics"]
    assert [(row["name"], row["n_scored"]) for row in metrics] == [("accuracy", 10), ("clean", 10), ("mine", 2)]
    assert recounted(alice, made["id"]) == []


def test_a_race_is_decided_by_its_own_metric_only(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=60), TWO, policy="race_default")
    good, bad = (Runner(alice, made, i) for i in range(2))
    for _ in range(2):
        for runner, text in ((good, None), (bad, "wrong")):
            unit = runner.lease()["unit"]
            if unit:
                runner.post(unit, [{"pos": e["pos"], "output": text or e["expected"]} for e in unit["examples"]])
    add(alice, made, BLEU | {"higher_is_better": False})
    run_units()
    good.run()
    view = live(alice, made["id"])
    assert (view["experiment"]["primary_metric"], view["leader"]) == ("accuracy", good.config)
    assert recounted(alice, made["id"]) == []


def test_the_application_is_not_called(alice: Caller, stub: RunningStub) -> None:
    made = make_experiment(
        alice, make_dataset(alice, n=30), [chat(make_connection(alice, stub.base_url), "stub-accuracy-0.80-a")]
    )
    run_units()
    calls = stub.calls()["total"]
    add(alice, made, CLEAN, BLEU)
    run_units()
    (config,) = live(alice, made["id"])["configs"]
    assert (config["metrics"]["clean"]["n"], stub.calls()["total"]) == (30, calls)


def test_outputs_whose_scoring_kills_the_worker_end_as_errors(alice: Caller) -> None:
    from django.db import connections

    made = finished(alice, n=10, configs=TWO[:1])
    add(alice, made, CLEAN)
    with connections["system"].cursor() as cursor:
        values = [MAX_LEASES, made["id"]]
        cursor.execute("UPDATE experiments_workunit SET attempt = %s WHERE experiment_id = %s AND addition = 1", values)
    run_units()
    found = estimates(alice, made)["clean"]
    assert (found["n"], found["n_error"]) == (0, 10)
    assert recounted(alice, made["id"]) == []


def test_a_deleted_config_is_scored_no_more(alice: Caller) -> None:
    made = finished(alice, n=10)
    add(alice, made, CLEAN)
    b = made["configs"][1]["id"]
    assert alice.call("DELETE", f"/v1/experiments/{made['id']}/configs/{b}").status_code == 204
    run_units()
    (row,) = [row for row in ok(alice.get(metrics_path(made)))["metrics"] if row["name"] == "clean"]
    assert (row["n_scored"], row["n_pending"]) == (10, 0)
    assert recounted(alice, made["id"]) == []


def results(caller: Caller, made: Any) -> Any:
    return ok(caller.get(f"/v1/experiments/{made['id']}/results?limit=1000"))["results"]


def test_numbers_of_the_caller_are_recorded_once(alice: Caller) -> None:
    made = finished(alice, n=10)
    path = f"/v1/experiments/{made['id']}/scores"
    add(alice, made, MINE)
    rows = results(alice, made)
    scores = [{"output_id": row["id"], "value": row["pos"] / 10} for row in rows]
    assert ok(alice.post(path, {"metric": "mine", "scores": scores[:15]})) == {"n_accepted": 15, "n_pending": 5}
    other = [one | {"value": 1} for one in scores]
    assert ok(alice.post(path, {"metric": "mine", "scores": other[:15]})) == {"n_accepted": 0, "n_pending": 5}
    assert ok(alice.post(path, {"metric": "mine", "scores": scores})) == {"n_accepted": 5, "n_pending": 0}
    for config in ("a", "b"):
        found = estimates(alice, made, config)["mine"]
        assert (found["n"], found["n_pending"], found["value"]) == (10, 0, pytest.approx(0.45))
    assert recounted(alice, made["id"]) == []


def test_numbers_of_the_caller_are_checked(alice: Caller) -> None:
    made = finished(alice, n=5, configs=TWO[:1])
    path = f"/v1/experiments/{made['id']}/scores"
    add(alice, made, MINE, BLEU)
    one, two, three, four, *_ = (row["id"] for row in results(alice, made))
    scores = [
        {"output_id": one, "value": 7},
        {"output_id": two, "value": "high"},
        {"output_id": three, "error": "ValueError: boom"},
        {"output_id": four, "value": {"verdict": "undecided", "why": "too_short"}},
    ]
    assert ok(alice.post(path, {"metric": "mine", "scores": scores}))["n_accepted"] == 4
    codes = {row["id"]: row["scores"].get("mine", {}).get("error_code") for row in results(alice, made)}
    assert [codes[id] for id in (one, two, three, four)] == ["out_of_range", "not_a_number", "bug", "undecided"]
    for metric, pointer in (("bleu", "/metric"), ("accuracy", "/metric"), ("none", "/metric")):
        answer = ok(alice.post(path, {"metric": metric, "scores": scores}), 422)
        assert answer["errors"][0]["pointer"] == pointer
    foreign = ok(alice.post(path, {"metric": "mine", "scores": [{"output_id": "1", "value": 1}]}), 422)
    assert foreign["errors"][0]["pointer"] == "/scores/0/output_id"
