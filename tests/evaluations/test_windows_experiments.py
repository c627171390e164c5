"""Histories beside experiments: what is promoted, and what stands beside them."""

from __future__ import annotations

from typing import Any

from tests.conftest import Caller
from tests.evaluations.histories import FULL, asked, n_of
from tests.experiments.conftest import EXACT, make_dataset, make_experiment, ok
from tests.experiments.pushing import Runner


def test_a_race_leaves_the_histories_of_production_alone(alice: Caller, charlie: Caller) -> None:
    for i in range(10):
        alice.evaluate("exact-match", output="x", label="xy"[i % 5 == 0], app="shop")
    app = {"scope": {"app": "shop"}}
    before = asked(alice, FULL), asked(alice, app)
    n_configs, n_examples = 16, 8
    made = make_experiment(
        alice, make_dataset(alice, n=n_examples), [{"name": f"c{i}", "kind": "push"} for i in range(n_configs)],
        metrics=[EXACT, {**EXACT, "name": "Correct", "type": "distributive"}], promote=True,
    )  # fmt: skip
    for i in range(n_configs):
        assert (asked(alice, FULL), asked(alice, app)) == before
        # The later a config is, the more of its answers are right, up to all but one of the last, which leads alone.
        right = min(i // 2, 6) + (i == 15)
        Runner(alice, made, i).run(lambda e, right=right: e["expected"] if e["pos"] < right else "wrong")

    live = ok(alice.get(f"/v1/experiments/{made['id']}/live"))
    assert live["experiment"]["state"] == "done"
    leader = next(config for config in live["configs"] if config["id"] == live["leader"])
    assert leader["metrics"]["accuracy"]["value"] == 7 / 8
    assert asked(alice, app) == before[1]
    nothing = {"n": 0, "rate": None}
    captured = {"n": 10, "rate": 0.8}
    for include, n, rate in (("none", 0, None), ("promoted", 8, 7 / 8), ("all", 128, 55 / 128)):
        found = asked(alice, {"strategy": FULL, "include_experiments": include})
        assert found["sources"] == {"evaluation": captured, "experiment": {"n": n, "rate": rate}, "import": nothing}
        assert (found["n"], found["include_experiments"]) == (10 + n, include)
        assert n_of(found) == found["n"]
        # Captures of an app name it, and no experiment does.
        assert asked(alice, {**app, "include_experiments": include})["n"] == 10
        # The promoted config is the best of sixteen, and its interval says so.
        assert found["rows"]["chosen_among"] == (None if include == "none" else n_configs)
        assert ("selected" in found["warnings"]) is (include != "none")
    assert asked(alice, {"strategy": FULL, "include_experiments": "none"}) == before[0] == asked(alice, FULL)
    assert asked(alice, {"scope": {"experiment": made["id"]}})["n"] == n_configs * n_examples
    assert asked(charlie, {"include_experiments": "all"})["n"] == 0
    assert ok(alice.get(f"/v1/experiments/{made['id']}/recount")) == {"equal": True, "differences": []}
    # As the app itself calls: captured, and of its history before the call.
    assert asked(alice, app, app="shop", capture="all") == before[1]


def test_another_config_is_promoted_by_hand(alice: Caller, charlie: Caller) -> None:
    made = make_experiment(
        alice, make_dataset(alice, n=6), [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}]
    )
    Runner(alice, made, 0).run()
    path = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/promote"

    promoted = {"include_experiments": "promoted"}
    assert asked(alice, promoted)["n"] == 0
    assert charlie.post(path, {}).status_code == 404
    assert ok(alice.post(path, {})) == {"config_id": made["configs"][0]["id"], "n_promoted": 6}
    assert ok(alice.post(path, {}))["n_promoted"] == 0
    assert asked(alice, promoted)["sources"]["experiment"]["n"] == 6
    Runner(alice, made, 1).run()
    assert asked(alice, promoted)["n"] == 6
    assert asked(alice, FULL)["n"] == 0


def test_a_running_experiment_stands_beside_the_history(alice: Caller, charlie: Caller) -> None:
    for label in "xyx":
        alice.evaluate("exact-match", output="x", label=label, app="shop")
    made = make_experiment(
        alice, make_dataset(alice, n=6), [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}]
    )
    Runner(alice, made, 0).run()

    def info(**fields: Any) -> dict[str, Any]:
        body = {"output": "x", "label": "x", "experiment_id": made["id"], "confidence_interval_strategy": FULL}
        (result,) = ok(alice.evaluate("exact-match", **body | fields))["results"]
        return result["evaluation_result"]["additional_info"]

    for fields, names in (({}, ["a", "b"]), ({"config": "a"}, ["a"]), ({"config": made["configs"][1]["id"]}, ["b"])):
        found = info(**fields)
        assert (found["confidence_interval"]["n"], found["confidence_interval"]["scope"]) == (3, "account")
        beside = found["experiment_interval"]
        assert beside["experiment_id"] == made["id"]
        assert [config["name"] for config in beside["configs"]] == names
        assert beside["configs"][0]["metrics"]["accuracy"]["n"] == (6 if names[0] == "a" else 0)
    body = {"output": "x", "label": "x", "experiment_id": made["id"], "config": "z"}
    (refused,) = ok(alice.evaluate("exact-match", **body))["results"]
    assert (refused["status"], refused["error_code"]) == ("validation_error", "unknown_config")
    assert "a, b" in refused["error_message"]
    (lonely,) = ok(alice.evaluate("exact-match", output="x", label="x", config="a"))["results"]
    assert lonely["error_code"] == "unknown_config"
    passive = ok(alice.post("/v1/experiments", {"name": "nightly", "project_name": "north"}))["experiment"]
    assert "experiment_interval" not in info(experiment_id=passive["id"])
    assert charlie.evaluate("exact-match", **body).status_code == 422
