"""Comparisons of configs of several experiments over one version of a dataset, whose orders of examples differ."""

from __future__ import annotations

from typing import Any

from benchmarks.stub_llm import RunningStub
from tests.caller import Caller
from tests.comparisons.shapes import (
    COMPARISONS,
    answer_all,
    answered,
    by_llm,
    compare,
    judgements,
    shown,
    work_off,
)
from tests.experiments.conftest import run_units
from tests.experiments.shapes import lease
from tests.factories import make_dataset, make_experiment, make_profile, ok
from tests.rest.shapes import assert_problem

EXAMPLES = [{"id": f"e{i}", "input": f"question {i}", "expected": f"answer {i}"} for i in range(40)]


def two_experiments(
    caller: Caller, right: tuple[int, int] = (38, 3), dataset: str | None = None, **second: Any
) -> tuple[Any, Any]:
    """Two experiments over one dataset, in different orders, each with a config of one name."""
    dataset = dataset or make_dataset(caller, EXAMPLES)
    made = []
    for seed, (n_right, plan) in enumerate(zip(right, ({}, second), strict=True)):
        experiment = make_experiment(caller, dataset, [{"name": "app", "kind": "push"}], seed=seed, **plan)
        answer_all(caller, experiment["id"], experiment["configs"][0], n_right)
        made.append(experiment)
    return made[0], made[1]


def ids_of(*experiments: Any) -> list[str]:
    return [config["id"] for experiment in experiments for config in experiment["configs"]]


def names_of(*experiments: Any) -> list[str]:
    return [f"{experiment['name']}:app" for experiment in experiments]


def test_scores_are_compared_example_by_example(alice: Caller) -> None:
    first, second = two_experiments(alice)

    found = work_off(alice, compare(alice, first, configs=ids_of(first, second)))

    assert (found["comparison"]["state"], found["comparison"]["n_judged"]) == ("finished", 40)
    assert [place["config"] for place in found["ranking"]["places"]] == names_of(first, second)
    (pair,) = found["ranking"]["pairs"]
    assert (pair["n_wins"], pair["n_ties"], pair["n_losses"]) == (35, 5, 0)
    ties = {row["example_id"] for row in judgements(alice, found["comparison"]) if row["winner"] == "tie"}
    assert ties == {"e0", "e1", "e2", "e38", "e39"}


def test_a_part_of_the_examples_is_compared_where_both_have_them(alice: Caller) -> None:
    dataset = make_dataset(alice, EXAMPLES)
    first, _ = two_experiments(alice, dataset=dataset)
    third = make_experiment(alice, dataset, [{"name": "late", "kind": "push"}], seed=2)
    path = f"/v1/experiments/{third['id']}"
    unit = lease(alice, third["id"], third["configs"][0]["id"], n=10)
    rows = [{"pos": example["pos"], "output": example["expected"]} for example in unit["examples"]]
    ok(alice.post(f"{path}/units/{unit['id']}/outputs", {"token": unit["token"], "outputs": rows}))

    found = work_off(alice, compare(alice, first, configs=ids_of(first, third)))["comparison"]

    assert (found["n_judged"], found["n_errors"]) == (10, 0)
    assert [config["name"] for config in found["configs"]] == ["app", "late"]


def test_another_evaluator_scores_the_outputs_of_both(alice: Caller) -> None:
    first, second = two_experiments(alice)
    name = str(make_profile(alice, "metrics", metric="bleu")["name"])
    comparison = compare(alice, first, {"evaluator": "metrics", "criteria": name}, configs=ids_of(first, second))
    run_units()

    head = work_off(alice, comparison)["comparison"]

    assert (head["state"], head["n_judged"], head["n_errors"]) == ("finished", 40, 0)


def test_an_llm_sees_the_outputs_of_one_example(alice: Caller, stub: RunningStub) -> None:
    first, second = two_experiments(alice, (40, 0))

    found = work_off(alice, compare(alice, second, by_llm(alice, stub), configs=ids_of(second, first), budget=6))

    assert (found["comparison"]["n_judged"], found["comparison"]["n_errors"]) == (6, 0)
    assert [place["config"] for place in found["ranking"]["places"]] == names_of(first, second)


def test_what_was_deleted_meanwhile_is_an_error(alice: Caller) -> None:
    first, second = two_experiments(alice)
    name = str(make_profile(alice, "metrics", metric="bleu")["name"])
    comparison = compare(alice, first, {"evaluator": "metrics", "criteria": name}, configs=ids_of(first, second))
    assert alice.call("delete", f"/v1/experiments/{second['id']}").status_code == 204

    found = work_off(alice, comparison)["comparison"]

    assert (found["state"], found["n_judged"], found["n_errors"]) == ("finished", 0, 40)
    assert shown(alice, comparison)["comparison"]["errors"][0]["code"] == "no_output"


def test_what_cannot_be_compared_is_refused(alice: Caller, charlie: Caller) -> None:
    first, second = two_experiments(alice)
    elsewhere = answered(alice)
    foreign, _ = two_experiments(charlie)
    wrong: list[tuple[list[str], dict[str, Any], str]] = [
        (ids_of(first, elsewhere), {"metric": "accuracy"}, "/configs/1"),
        (ids_of(first, foreign), {"metric": "accuracy"}, "/configs/1"),
        (["app", str(2**70)], {"metric": "accuracy"}, "/configs/1"),
        (ids_of(first, second), {"review_id": "00000000-0000-0000-0000-000000000001"}, "/judge/review_id"),
    ]
    for configs, judge, pointer in wrong:
        body = {"experiment_id": first["id"], "configs": configs, "judge": judge}
        assert_problem(alice.post(COMPARISONS, body), "validation_failed", pointer)


def test_one_name_for_two_metrics_is_refused(alice: Caller) -> None:
    name = str(make_profile(alice, "metrics", metric="bleu")["name"])
    bleu = [{"name": "accuracy", "evaluator": "metrics", "criteria": name}]
    first, second = two_experiments(alice, metrics=bleu)

    answer = alice.post(
        COMPARISONS, {"experiment_id": first["id"], "configs": ids_of(first, second), "judge": {"metric": "accuracy"}}
    )

    assert_problem(answer, "validation_failed", "/judge/metric")
    assert ok(alice.get(COMPARISONS))["comparisons"] == []
