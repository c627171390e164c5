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
ROWS: dict[str, Any] = {"n_distinct": None, "n_failed": 0, "failed_as": None, "n_missing": 0, "n_undecided": 0}
ROWS |= {"chosen_among": None, "weighted": False, "n_eff": None, "sources": {}}


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
    assert "failures_worst" in metric["warnings"] and "missing" not in metric["warnings"]
    assert metric["rows"] == ROWS | {"n": 30, "n_failed": 30, "failed_as": "worst"}
    assert steady["metrics"]["accuracy"]["value"] == 0.95
    assert steady["metrics"]["accuracy"]["rows"] == ROWS | {"n": N, "chosen_among": 2}
    compared = ok(alice.get(f"/v1/compare?a={crashing['id']}&b={steady['id']}"))
    assert (compared["comparison"]["n"], compared["comparison"]["n_missing"]) == (N, 0)
    assert round(compared["comparison"]["delta"], 9) == -0.45
    shown = next(row["a"] for row in compared["examples"] if row["a"]["error_code"])
    assert (shown["value"], shown["error_code"]) == (None, "failed_output")
    assert recounted(alice, made["id"]) == []


def test_failures_can_be_left_out(alice: Caller) -> None:
    made = run_two(alice, answering(failed=EVEN), answering(wrong=range(3)), failures="exclude")
    metric = by_name(live(alice, made["id"]))["a"]["metrics"]["accuracy"]
    assert (metric["value"], metric["n"], metric["n_error"]) == (1.0, 30, 30)
    assert metric["rows"]["failed_as"] == "excluded"
    assert "failures_excluded" in metric["warnings"]
    assert recounted(alice, made["id"]) == []


def test_errors_is_the_former_name_of_failures(alice: Caller) -> None:
    dataset = make_dataset(alice, n=20)
    for errors, failures in (("worst", "worst"), ("favour", "exclude")):
        assert make_experiment(alice, dataset, TWO, errors=errors)["plan"]["failures"] == failures
    plan = {"dataset_id": dataset, "metrics": [EXACT], "errors": "favour", "failures": "worst"}
    refused = ok(alice.post("/v1/experiments", {"name": "x", "configs": TWO, "plan": plan}), 422)
    assert [error["pointer"] for error in refused["errors"]] == ["/plan/errors"]


def test_an_empty_output_is_a_failed_one(alice: Caller) -> None:
    metrics = [EXACT, {"name": "long", "source": "/output/n", "value_range": [0, 1]}]
    made = make_experiment(alice, make_dataset(alice, n=4), TWO[:1], metrics=metrics)
    post_all(Runner(alice, made), lambda e: {"output": None if e["pos"] == 3 else {"n": 1, "answer": e["expected"]}})
    row = by_name(live(alice, made["id"]))["a"]
    assert (row["n_ok"], row["metrics"]["long"]["value"]) == (4, 0.75)
    assert row["metrics"]["accuracy"]["rows"]["n_failed"] == 1


def test_an_outage_widens_the_headline_and_leaves_the_comparison_alone(alice: Caller) -> None:
    n = 200
    lost = range(0, n, 20)
    made = run_two(
        alice,
        answering(failed=lost, error="connection"),
        answering(wrong=range(100), failed=range(10, n, 20), error="connection"),
        n=n,
    )
    view = by_name(live(alice, made["id"]))
    metric = view["a"]["metrics"]["accuracy"]
    assert (metric["value"], metric["rows"]["n_missing"], metric["rows"]["n_failed"]) == (1.0, 10, 0)
    assert "missing" in metric["warnings"]
    # Of 190 right answers Clopper and Pearson have 0.977, as the better of two; a twentieth of all may have been wrong.
    assert round(metric["lower"], 3) == round(0.95 * 0.0125 ** (1 / 190), 3)
    assert metric["upper"] == 1.0
    assert metric["method"].endswith("missing worst and best")
    assert view["a"]["versus_leader"] is None
    assert (view["b"]["versus_leader"]["word"], view["b"]["versus_leader"]["n_missing"]) == ("worse", 20)


def test_where_a_tenth_is_missing_there_are_bounds_alone(alice: Caller) -> None:
    made = run_two(alice, answering(failed=range(0, N, 10), error="connection"), answering())
    view = by_name(live(alice, made["id"]))
    metric = view["a"]["metrics"]["accuracy"]
    assert (metric["value"], metric["n"], metric["rows"]["n_missing"]) == (None, 54, 6)
    assert metric["method"] == "bounds, missing worst and best"
    assert 0.8 < metric["lower"] < 0.9 and metric["upper"] == 1.0
    assert view["b"]["metrics"]["accuracy"]["value"] == 1.0


def test_a_metric_without_a_range_leaves_failures_out(alice: Caller) -> None:
    metrics = [{"name": "ms", "source": "client"}]
    made = make_experiment(alice, make_dataset(alice, n=20), TWO[:1], metrics=metrics)
    ones = range(1, 20, 10)
    post_all(
        Runner(alice, made),
        lambda e: {"error": {"type": "bug"}} if e["pos"] in ones else {"output": "x", "scores": {"ms": e["pos"]}},
    )
    metric = by_name(live(alice, made["id"]))["a"]["metrics"]["ms"]
    assert metric["rows"] == ROWS | {"n": 18, "n_failed": 2, "failed_as": "excluded"}
    assert (metric["n"], metric["value"]) == (18, sum(pos for pos in range(20) if pos not in ones) / 18)
    assert "failures_excluded" in metric["warnings"] and "missing" not in metric["warnings"]


def test_failures_on_hard_examples_are_warned_of(alice: Caller) -> None:
    hard = range(20)
    made = run_two(alice, answering(failed=range(0, 20, 2)), answering(wrong=hard))
    view = by_name(live(alice, made["id"]))
    assert "failures_not_at_random" in view["a"]["metrics"]["accuracy"]["warnings"]
    assert "failures_not_at_random" not in view["b"]["metrics"]["accuracy"]["warnings"]
    made = run_two(alice, answering(failed=range(0, N, 6)), answering(wrong=hard))
    assert "failures_not_at_random" not in by_name(live(alice, made["id"]))["a"]["metrics"]["accuracy"]["warnings"]


def test_the_answer_to_the_last_outputs_and_evaluations_beside_it_warn_too(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=N), TWO)
    first, second = (Runner(alice, made, i) for i in range(2))
    post_all(second, answering(wrong=range(20)))
    answers = []
    while unit := first.lease()["unit"]:
        rows = [{"pos": e["pos"]} | answering(failed=range(0, 20, 2))(e) for e in unit["examples"]]
        answers.append(first.post(unit, rows))
    pushed = answers[-1]["live"]["accuracy"]
    body = {"experiment_id": made["id"], "output": "x", "label": "x", "confidence_interval_strategy": "auto"}
    (result,) = ok(alice.evaluate("exact-match", **body))["results"]
    beside = result["evaluation_result"]["additional_info"]["experiment_interval"]["configs"]
    shown = {config["name"]: config["metrics"]["accuracy"]["warnings"] for config in beside}

    assert "failures_not_at_random" in pushed["warnings"]
    assert "failures_not_at_random" in shown["a"] and "failures_not_at_random" not in shown["b"]


def test_an_example_without_a_gold_answer_cannot_be_failed(alice: Caller) -> None:
    examples = [{"id": str(i), "input": i, **({"expected": "x"} if i < 8 else {})} for i in range(10)]
    made = make_experiment(alice, make_dataset(alice, examples), TWO[:1])
    post_all(Runner(alice, made), lambda e: {"error": {"type": "bug"}} if e["id"] in "789" else {"output": "x"})
    metric = by_name(live(alice, made["id"]))["a"]["metrics"]["accuracy"]
    assert (metric["n"], metric["n_error"], metric["n_na"], metric["value"]) == (7, 1, 2, 7 / 8)
    assert recounted(alice, made["id"]) == []


def test_slices_fronts_and_reports_read_the_same_rule(alice: Caller) -> None:
    price = {"name": "price", "source": "client", "value_range": [0, 1], "higher_is_better": False}
    made = make_experiment(alice, make_dataset(alice, n=N), TWO, metrics=[EXACT, price])
    for i, answer in enumerate((answering(failed=EVEN), answering(wrong=range(3)))):
        post_all(Runner(alice, made, i), lambda e, answer=answer: {"scores": {"price": 0.25}} | answer(e))
    a, b = (config["id"] for config in made["configs"])
    path = f"/v1/experiments/{made['id']}"

    (row,) = ok(alice.get(f"{path}/aggregates?by=metadata.none&config={a}"))["rows"]
    assert (row["n"], row["value"]) == (30, 0.5)
    assert row["rows"] == ROWS | {"n": 30, "n_failed": 30, "failed_as": "worst"}
    front = ok(alice.get(f"{path}/pareto?metrics=accuracy,price"))
    assert front["front"] == [b]
    assert by_name(front)["a"]["values"] == {"accuracy": {"value": 0.5, "n": N}, "price": {"value": 0.625, "n": N}}
    report = ok(alice.get(f"{path}/report?n_examples=2"))
    assert report["summary"]["leader"] == "b"
    assert recounted(alice, made["id"]) == []
