"""What a failed output means: the worst value of a metric's range, on every surface; and what a missing one means."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from tests.conftest import Caller
from tests.experiments.conftest import EXACT, by_name, live, make_dataset, make_experiment, ok, recounted
from tests.experiments.pushing import Runner

TWO = [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}]
N = 60
EVEN = range(0, N, 2)


def post_all(runner: Runner, answer: Callable[[Any], dict[str, Any]]) -> None:
    while unit := runner.lease()["unit"]:
        runner.post(unit, [{"pos": e["pos"]} | answer(e) for e in unit["examples"]])


def answering(*, wrong: Container[int] = (), failed: Container[int] = (), error: str = "bug") -> Any:
    def answer(example: Any) -> dict[str, Any]:
        if example["pos"] in failed:
            return {"error": {"type": error}}
        return {"output": "wrong" if example["pos"] in wrong else example["expected"]}

    return answer


def run_two(alice: Caller, first: Any, second: Any, n: int = N, **plan: Any) -> Any:
    made = make_experiment(alice, make_dataset(alice, n=n), TWO, **plan)
    for i, answer in enumerate((first, second)):
        post_all(Runner(alice, made, i), answer)
    return made


def test_a_config_that_crashes_does_not_lead(alice: Caller) -> None:
    made = run_two(alice, answering(failed=EVEN), answering(wrong=range(3)))
    assert made["plan"]["failures"] == "worst"
    view = live(alice, made["id"])
    crashing, steady = by_name(view)["a"], by_name(view)["b"]
    assert view["leader"] == steady["id"]
    metric = crashing["metrics"]["accuracy"]
    assert (metric["value"], metric["n"], metric["n_error"]) == (0.5, 30, 30)
    assert metric["lower"] < 0.5 < metric["upper"] < 0.7
    assert metric["this_set"]["exact"] is True
    assert steady["metrics"]["accuracy"]["value"] == 0.95
    compared = ok(alice.get(f"/v1/compare?a={crashing['id']}&b={steady['id']}"))
    assert (compared["comparison"]["n"], compared["comparison"]["n_missing"]) == (N, 0)
    assert round(compared["comparison"]["delta"], 9) == -0.45
    shown = next(row["a"] for row in compared["examples"] if row["a"]["error_code"])
    assert (shown["value"], shown["error_code"]) == (0.0, "failed_output")
    assert recounted(alice, made["id"]) == []


def test_failures_can_be_left_out(alice: Caller) -> None:
    made = run_two(alice, answering(failed=EVEN), answering(wrong=range(3)), failures="exclude")
    metric = by_name(live(alice, made["id"]))["a"]["metrics"]["accuracy"]
    assert (metric["value"], metric["n"], metric["n_error"]) == (1.0, 30, 30)
    assert recounted(alice, made["id"]) == []


def test_errors_is_the_former_name_of_failures(alice: Caller) -> None:
    dataset = make_dataset(alice, n=20)
    for errors, failures in (("worst", "worst"), ("favour", "exclude")):
        assert make_experiment(alice, dataset, TWO, errors=errors)["plan"]["failures"] == failures
    plan = {"dataset_id": dataset, "metrics": [EXACT], "errors": "favour", "failures": "worst"}
    refused = ok(alice.post("/v1/experiments", {"name": "x", "configs": TWO, "plan": plan}), 422)
    assert [error["pointer"] for error in refused["errors"]] == ["/plan/errors"]
