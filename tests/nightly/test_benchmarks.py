"""/v1/benchmarks: a frozen question, what holds it to what was frozen, and its answers over time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.pushing import Runner
from tests.factories import EXACT, make_dataset, make_profile, ok
from tests.nightly.shapes import PUSHED, execute, executions, new_benchmark
from tests.rest.shapes import assert_problem

HALF = set(range(0, 60, 2))


def test_it_freezes_what_it_measures_by(alice: Caller) -> None:
    made = new_benchmark(alice, level=0.9)

    assert (made["dataset_version"], made["n_examples"], made["n_executions"]) == (1, 60, 0)
    (metric,) = made["logic"]["metrics"]
    assert (metric["evaluator_id"], metric["profile_revision"]) == ("exact-match-2026-11-28", 1)
    assert made["logic"]["rules"]["level"] == 0.9
    assert made["logic"]["comparison"]["against"] == ["last", "best"]
    assert len(made["digest"]) == 64


def test_an_execution_is_an_experiment_that_runs(alice: Caller) -> None:
    made = new_benchmark(alice)
    found = execute(alice, made, task_version="v7", model="m-1", environment={"host": "a"})

    experiment = ok(alice.get(f"/v1/experiments/{found['experiment_id']}"))["experiment"]
    assert (experiment["plan"]["state"], experiment["name"]) == ("running", f"{made['name']} 1")
    assert experiment["metadata"] == {"host": "a", "task_version": "v7", "model": "m-1"}
    assert [one["id"] for one in ok(alice.get("/v1/experiments?metadata=model:m-1"))["experiments"]] == [
        found["experiment_id"]
    ]


def test_each_is_held_against_the_last_and_the_best(alice: Caller) -> None:
    made = new_benchmark(alice)
    for wrong in (set(), HALF, set(range(0, 60, 3))):
        execute(alice, made, wrong)

    third, second, first = (page := executions(alice, made))["executions"]
    assert [one["metrics"]["accuracy"]["value"] for one in (first, second, third)] == pytest.approx([1.0, 0.5, 2 / 3])
    assert (first["against_last"], first["against_best"]) == (None, None)
    assert (second["against_last"]["number"], second["against_best"]["number"]) == (1, 1)
    assert (third["against_last"]["number"], third["against_best"]["number"]) == (2, 1)
    assert second["against_last"]["comparison"]["delta"] == pytest.approx(-0.5)
    assert second["against_last"]["comparison"]["word"] == "worse"
    assert third["against_last"]["comparison"]["delta"] == pytest.approx(1 / 6)
    # 2 against 1; 3 against 1 or 2, whichever is the best.
    assert page["n_comparisons"] == 3
    assert third["against_last"]["comparison"]["n_comparisons"] == 3
    assert third["against_last"]["comparison"]["joint_level"] == pytest.approx(1 - 0.05 / 3)


@pytest.mark.parametrize(("failed", "is_warned"), [(range(0, 20, 2), True), (range(0, 60, 6), False)])
def test_failures_where_earlier_ones_were_wrong_are_warned_of(alice: Caller, failed: range, is_warned: bool) -> None:
    made = new_benchmark(alice)
    execute(alice, made, set(range(20)))
    found = execute(alice, made)
    runner = Runner(alice, {"id": found["experiment_id"], "configs": [{"id": found["config_id"]}]})
    while unit := runner.lease()["unit"]:
        rows = [
            {"pos": e["pos"]} | ({"error": {"type": "bug"}} if e["pos"] in failed else {"output": e["expected"]})
            for e in unit["examples"]
        ]
        runner.post(unit, rows)

    second, first = executions(alice, made)["executions"]
    assert ("failures_not_at_random" in second["metrics"]["accuracy"]["warnings"]) == is_warned
    assert "failures_not_at_random" not in first["metrics"]["accuracy"]["warnings"]


def test_equal_ones_are_inconclusive(alice: Caller) -> None:
    made = new_benchmark(alice)
    for _ in range(2):
        execute(alice, made, HALF)

    newest = executions(alice, made)["executions"][0]
    comparison = newest["against_last"]["comparison"]
    assert (comparison["word"], comparison["delta"]) == ("inconclusive", 0.0)
    assert comparison["lower"] < 0.0 < comparison["upper"]


def test_a_changed_environment_is_named(alice: Caller) -> None:
    made = new_benchmark(alice, n=6)
    execute(alice, made, set(), model="m-1", environment={"host": "a", "python": "3.11"})
    execute(alice, made, {0, 1, 2}, model="m-2", environment={"host": "b", "python": "3.11"})

    newest = executions(alice, made)["executions"][0]
    assert newest["changed"] == ["model", "environment.host"]


def test_one_that_runs_is_compared_so_far_and_is_no_last_one(alice: Caller) -> None:
    made = new_benchmark(alice, n=6)
    execute(alice, made, set())
    execute(alice, made)
    execute(alice, made, set())

    third, second, _ = executions(alice, made)["executions"]
    assert (second["state"], second["against_last"]["reason"]) == ("running", "no_scores")
    assert third["against_last"]["number"] == 1


def revised(caller: Caller, profile: Any) -> None:
    path = f"/v1/evaluator-criteria/{profile['public_id']}/revision"
    answer = caller.post(path, {"evaluator_family": "metrics", "config": {"metric": "rougeL"}})
    assert answer.status_code in (200, 201), answer.content


def drifting(caller: Caller) -> Any:
    profile = make_profile(caller, "metrics", "mine", metric="bleu")
    metric = {"name": "likeness", "evaluator": "metrics", "criteria": "mine"}
    made = new_benchmark(caller, n=6, metrics=[metric])
    execute(caller, made, set())
    revised(caller, profile)
    return made


def test_a_revised_profile_is_refused(alice: Caller) -> None:
    made = drifting(alice)

    problem = assert_problem(
        alice.post(f"/v1/benchmarks/{made['id']}/executions", {"config": PUSHED}),
        "drifted",
        "/metrics/0/profile_revision",
    )
    assert "/metrics/0/settings/metric" in [one["pointer"] for one in problem["errors"]]
    drift = ok(alice.get(f"/v1/benchmarks/{made['id']}"))["drift"]
    assert {"pointer": "/metrics/0/profile_revision", "was": 1, "now": 2} in drift
    assert ok(alice.get(f"/v1/benchmarks/{made['id']}"))["benchmark"]["n_executions"] == 1


def test_it_is_let_through_by_name(alice: Caller) -> None:
    made = drifting(alice)

    execute(alice, made, set(), allow_drift=True)
    newest = executions(alice, made)["executions"][0]
    assert {"pointer": "/metrics/0/profile_revision", "was": 1, "now": 2} in newest["drift"]
    assert "logic" in newest["changed"]


def test_a_changed_prompt_is_a_change(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    metric = {"name": "judged", "evaluator": "judge", "criteria": make_judge(alice)}
    made = new_benchmark(alice, n=3, metrics=[metric])
    assert made["logic"]["metrics"][0]["prompts"]

    monkeypatch.setattr("evalsvc.catalog.prompts.prompt_hash", lambda question: "another")
    errors = assert_problem(alice.post(f"/v1/benchmarks/{made['id']}/executions", {"config": PUSHED}), "drifted")[
        "errors"
    ]
    assert {one["pointer"].split("/")[3] for one in errors} == {"prompts"}


def make_judge(caller: Caller) -> str:
    from tests.factories import make_connection

    connection = make_connection(caller, "https://llm.example.com/v1")
    return str(
        make_profile(caller, "judge", pass_criteria="The MODEL OUTPUT names a river.", connection=connection)["name"]
    )


def test_a_newer_dataset_version_changes_nothing(alice: Caller) -> None:
    made = new_benchmark(alice, n=3)
    ok(alice.post(f"/v1/datasets/{made['dataset_id']}/versions", {"examples": [{"input": "new", "expected": "x"}]}))

    execute(alice, made, set())
    assert ok(alice.get(f"/v1/benchmarks/{made['id']}"))["drift"] == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"config": {"kind": "push", "search": {"k": [1, 2]}}}, "/config/search"),
        ({"config": {"kind": "chat", "parameters": {}}}, "/config/parameters/connection"),
        ({}, "/config"),
        ({"config": PUSHED, "colour": 1}, "/colour"),
    ],
)
def test_a_bad_execution_is_refused(alice: Caller, body: Any, pointer: str) -> None:
    made = new_benchmark(alice, n=3)

    assert_problem(alice.post(f"/v1/benchmarks/{made['id']}/executions", body), "validation_failed", pointer)
    assert executions(alice, made)["executions"] == []


def test_what_is_of_races_has_no_place(alice: Caller) -> None:
    plan = {"dataset_id": make_dataset(alice, n=3), "metrics": [EXACT], "policy": "manual", "start": True}

    assert_problem(alice.post("/v1/benchmarks", {"name": "x", "plan": plan}), "validation_failed", "/plan/start")


def test_a_name_is_taken_once(alice: Caller) -> None:
    made = new_benchmark(alice, n=3)
    plan = {"dataset_id": made["dataset_id"], "metrics": [EXACT]}

    assert_problem(alice.post("/v1/benchmarks", {"name": made["name"], "plan": plan}), "already_exists", "/name")


def test_pages_of_executions_compare_with_earlier_pages(alice: Caller) -> None:
    made = new_benchmark(alice, n=6)
    for _ in range(3):
        execute(alice, made, set())

    first = executions(alice, made, "limit=1")
    assert [one["number"] for one in first["executions"]] == [3]
    assert first["executions"][0]["against_last"]["number"] == 2
    following = executions(alice, made, f"limit=1&cursor={first['next_cursor']}")
    assert [one["number"] for one in following["executions"]] == [2]


def test_deleting_it_leaves_the_experiments(alice: Caller) -> None:
    made = new_benchmark(alice, n=3)
    ran = execute(alice, made, set())
    in_use = alice.call("DELETE", f"/v1/datasets/{made['dataset_id']}")
    assert_problem(in_use, "in_use")

    assert alice.call("DELETE", f"/v1/benchmarks/{made['id']}").status_code == 204
    assert ok(alice.get(f"/v1/experiments/{ran['experiment_id']}"))
    assert_problem(alice.get(f"/v1/benchmarks/{made['id']}"), "not_found")


def test_a_deleted_experiment_leaves_the_list(alice: Caller) -> None:
    made = new_benchmark(alice, n=3)
    ran = execute(alice, made, set())

    assert alice.call("DELETE", f"/v1/experiments/{ran['experiment_id']}").status_code == 204
    assert executions(alice, made)["executions"] == []
    assert execute(alice, made)["number"] == 2


def test_readers_look_and_do_not_execute(alice: Caller, bob: Caller) -> None:
    made = new_benchmark(alice, n=3)

    assert executions(bob, made)["executions"] == []
    assert_problem(bob.post(f"/v1/benchmarks/{made['id']}/executions", {"config": PUSHED}), "read_only_key")


def test_strangers_find_nothing(alice: Caller, charlie: Caller) -> None:
    made = new_benchmark(alice, n=3)

    assert ok(charlie.get("/v1/benchmarks"))["benchmarks"] == []
    assert_problem(charlie.get(f"/v1/benchmarks/{made['id']}"), "not_found")
    assert_problem(charlie.post(f"/v1/benchmarks/{made['id']}/executions", {"config": PUSHED}), "not_found")


def test_two_at_once_have_two_numbers(alice: Caller) -> None:
    from concurrent.futures import ThreadPoolExecutor

    made = new_benchmark(alice, n=3)
    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(lambda _: execute(alice, made)["number"], range(4)))

    assert sorted(numbers) == [1, 2, 3, 4]
