"""Examples that are asked several times: one row each, whose score is the mean over its samples."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller, scores_of
from tests.experiments.conftest import by_name, live, make_dataset, make_experiment, ok, recounted, run_units
from tests.experiments.pushing import PUSH, Runner, results

WRONG = {"output": "wrong"}
BUG = {"error": {"type": "bug", "message": "no"}}


def sampled(runner: Runner, samples: Any, **body: Any) -> list[int]:
    """Post all that can be leased; `samples` gives the answers to an example."""
    accepted: list[int] = []
    while unit := runner.lease()["unit"]:
        rows = [{"pos": e["pos"], "samples": samples(e)} for e in unit["examples"]]
        accepted += runner.post(unit, rows, **body)["accepted"]
    return accepted


def right(example: Any) -> dict[str, Any]:
    return {"output": example["expected"]}


def accuracy(caller: Caller, made: Any, config: str = "mine") -> Any:
    return by_name(live(caller, made["id"]))[config]["metrics"]["accuracy"]


@pytest.fixture
def made(alice: Caller) -> Any:
    return make_experiment(alice, make_dataset(alice, n=10), [PUSH], n_samples=4)


def test_an_examples_score_is_the_mean_of_its_samples(alice: Caller, made: Any) -> None:
    sampled(Runner(alice, made), lambda e: [right(e), WRONG, right(e), right(e)])
    (row, *_) = results(alice, made)
    score = row["scores"]["accuracy"]
    assert (score["value"], score["n_scored"], score["within"]) == (0.75, 4, pytest.approx(0.25))
    assert [one["value"] for one in score["samples"]] == [1.0, 0.0, 1.0, 1.0]
    assert [one["output"]["output"] for one in row["samples"]][1] == "wrong"


def test_samples_are_no_examples(alice: Caller, made: Any) -> None:
    sampled(Runner(alice, made), lambda e: [right(e), WRONG, right(e), right(e)])
    found = accuracy(alice, made)
    assert (found["n"], found["N"], found["value"]) == (10, 10, 0.75)
    head = live(alice, made["id"])["experiment"]
    assert (head["state"], head["n_queries"]) == ("done", 40)
    assert recounted(alice, made["id"]) == []


def test_a_sample_that_failed_counts_as_the_worst(alice: Caller, made: Any) -> None:
    sampled(Runner(alice, made), lambda e: [BUG, right(e), WRONG, BUG] if e["pos"] else [BUG] * 4)
    found = accuracy(alice, made)
    assert (found["n"], found["n_error"], found["value"]) == (9, 1, pytest.approx(9 * 0.25 / 10))
    failed, *others = sorted(results(alice, made), key=lambda row: row["pos"])
    assert (failed["status"], failed["error_type"]) == ("error", "bug")
    assert failed["scores"]["accuracy"]["error_code"] == "failed_output"
    assert {row["status"] for row in others} == {"ok"}
    assert {row["scores"]["accuracy"]["n_scored"] for row in others} == {4}
    assert recounted(alice, made["id"]) == []


def test_a_sample_that_is_missing_is_no_score(alice: Caller, made: Any) -> None:
    lost = {"error": {"type": "connection"}}
    sampled(Runner(alice, made), lambda e: [lost, right(e), WRONG, lost] if e["pos"] else [lost] * 4)
    found = accuracy(alice, made)
    assert (found["n"], found["n_error"], found["mean"]) == (9, 1, None)
    failed, *others = sorted(results(alice, made), key=lambda row: row["pos"])
    assert failed["scores"]["accuracy"]["error_code"] == "no_output"
    assert {row["scores"]["accuracy"]["n_scored"] for row in others} == {2}
    assert recounted(alice, made["id"]) == []


def test_what_samples_took_is_added_up(alice: Caller, made: Any) -> None:
    took = {"latency_ms": 10.0, "input_tokens": 3, "output_tokens": 2, "cost": 0.5}
    sampled(Runner(alice, made), lambda e: [{**right(e), **took}, {**WRONG, **took}, BUG, {**BUG, **took}])
    row = results(alice, made)[0]
    assert {name: row[name] for name in took} == {name: 3 * value for name, value in took.items()}
    config = by_name(live(alice, made["id"]))["mine"]
    assert (config["input_tokens"], config["output_tokens"], config["cost"]) == (90, 60, 15.0)


def test_no_history_is_of_means(alice: Caller, made: Any) -> None:
    sampled(Runner(alice, made), lambda e: [right(e)] * 4)
    assert scores_of(alice, "exact-match") == []


@pytest.mark.parametrize(
    ("row", "pointer"),
    [
        ({"output": "x"}, "/outputs/0/samples"),
        ({"samples": [{"output": "x"}] * 3}, "/outputs/0/samples"),
        ({"samples": [{"output": "x"}] * 4, "output": "x"}, "/outputs/0/output"),
        ({"samples": [{"output": "x"}] * 3 + [{"error": {"type": "nope"}}]}, "/outputs/0/samples/3/error/type"),
    ],
)
def test_it_refuses_what_are_not_the_samples(alice: Caller, made: Any, row: Any, pointer: str) -> None:
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    body = {"token": unit["token"], "outputs": [{"pos": unit["examples"][0]["pos"], **row}]}
    answer = ok(alice.post(f"/v1/experiments/{made['id']}/units/{unit['id']}/outputs", body), 422)
    assert [one["pointer"] for one in answer["errors"]] == [pointer]


def test_one_sample_is_an_output(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=3), [PUSH])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    assert unit["n_samples"] == 1
    body = {"token": unit["token"], "outputs": [{"pos": 0, "samples": [{"output": "x"}] * 2}]}
    ok(alice.post(f"/v1/experiments/{made['id']}/units/{unit['id']}/outputs", body), 422)
    runner.post(unit, [{"pos": 0, "output": "x"}], done=False)
    (row,) = results(alice, made)
    assert row["samples"] is None and row["scores"]["accuracy"]["samples"] is None


@pytest.mark.parametrize(
    ("options", "pointer"),
    [
        ({"n_samples": 21}, "/plan/n_samples"),
        ({"n_samples": 2, "modes": ["integrated", "isolated"]}, "/plan/n_samples"),
        ({"n_samples": 2, "promote": True}, "/plan/promote"),
    ],
)
def test_it_refuses_what_samples_cannot_have(alice: Caller, options: Any, pointer: str) -> None:
    dataset = make_dataset(alice, n=3)
    metric = {"name": "accuracy", "evaluator": "exact-match"}
    plan = {"dataset_id": dataset, "metrics": [metric], **options}
    answer = ok(alice.post("/v1/experiments", {"name": "e", "plan": plan, "configs": [PUSH]}), 422)
    assert [one["pointer"] for one in answer["errors"]] == [pointer]


def test_workers_score_each_sample_later(alice: Caller) -> None:
    metrics = [{"name": "clean", "evaluator": "toxicity"}, {"name": "mine", "source": "client", "value_range": [0, 9]}]
    made = make_experiment(alice, make_dataset(alice, n=3), [PUSH], n_samples=2, metrics=metrics)
    sampled(Runner(alice, made), lambda e: [{"output": "x", "scores": {"mine": 2}}, {"output": "x"}])
    run_units()
    scores = results(alice, made)[0]["scores"]
    assert (scores["clean"]["n_scored"], len(scores["clean"]["samples"])) == (2, 2)
    assert (scores["mine"]["value"], scores["mine"]["n_scored"], scores["mine"]["within"]) == (2.0, 1, None)
    assert scores["mine"]["samples"][1]["error_code"] == "no_value"
    assert recounted(alice, made["id"]) == []


def test_a_metric_that_is_added_scores_each_sample(alice: Caller, made: Any) -> None:
    sampled(Runner(alice, made), lambda e: [right(e), WRONG, BUG, right(e)])
    added = {"name": "again", "evaluator": "exact-match"}
    ok(alice.post(f"/v1/experiments/{made['id']}/metrics", {"metrics": [added]}))
    run_units()
    scores = results(alice, made)[0]["scores"]
    assert scores["again"]["value"] == scores["accuracy"]["value"] == 0.5
    split = by_name(live(alice, made["id"]))["mine"]["metrics"]["again"]["variance_split"]
    assert (split["n"], split["within"], split["between"]) == (10, pytest.approx(1 / 3), pytest.approx(-1 / 12))
    assert recounted(alice, made["id"]) == []


def test_a_ratio_is_of_means(alice: Caller) -> None:
    metric = {"name": "share", "source": "client", "type": "ratio"}
    made = make_experiment(alice, make_dataset(alice, n=2), [PUSH], n_samples=2, metrics=[metric])
    parts = [{"numerator": 1, "denominator": 2}, {"numerator": 2, "denominator": 4}]
    sampled(Runner(alice, made), lambda e: [{"output": "x", "scores": {"share": part}} for part in parts])
    found = by_name(live(alice, made["id"]))["mine"]["metrics"]["share"]
    assert (found["value"], found["variance_split"]) == (0.5, None)
    score = results(alice, made)[0]["scores"]["share"]
    assert (score["value"], score["denominator"]) == (1.5, 3.0)


def test_a_retry_asks_for_all_samples_of_what_failed(alice: Caller, made: Any) -> None:
    runner = Runner(alice, made)
    sampled(runner, lambda e: [BUG] * 4 if e["pos"] == 3 else [BUG, right(e), right(e), right(e)])
    assert ok(alice.post(f"/v1/experiments/{made['id']}/retry", {}))["n_outputs"] == 1
    assert sampled(runner, lambda e: [right(e), right(e), WRONG, WRONG]) == [3]
    found = accuracy(alice, made)
    assert (found["n"], found["value"]) == (10, 0.725)
    assert recounted(alice, made["id"]) == []


def test_samples_are_found_by_their_traces(alice: Caller, made: Any) -> None:
    def traced(example: Any) -> Any:
        return [{**right(example), "trace_id": f"{example['pos'] * 4 + i + 1:032x}"} for i in range(4)]

    sampled(Runner(alice, made), traced)
    (row,) = results(alice, made, f"trace_id={5 * 4 + 3:032x}")
    assert row["pos"] == 5 and row["samples"][2]["trace_id"] == f"{5 * 4 + 3:032x}"


def test_a_count_of_ones_has_no_exact_interval(alice: Caller) -> None:
    plan = {"dataset_id": make_dataset(alice, n=3), "metrics": [{"name": "a", "evaluator": "exact-match"}]}
    body = {"name": "e", "plan": {**plan, "n_samples": 2, "strategy": "wilson"}, "configs": [PUSH]}
    answer = ok(alice.post("/v1/experiments", body), 422)
    assert [one["pointer"] for one in answer["errors"]] == ["/plan/metrics/0/strategy"]
