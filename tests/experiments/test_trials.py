"""Metrics whose samples are trials of one test: the same value on every surface, and what it says of single tests."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from evalsvc.experiments.definition.metrics import Metric, TrialRule
from evalsvc.stats.formulas.anytime import anytime_share
from tests.conftest import Caller
from tests.experiments.conftest import by_name, live, ok, recounted
from tests.experiments.pushing import Runner, results
from tests.factories import EXACT, make_dataset, make_experiment

BUG, LOST = {"error": {"type": "bug", "message": "crashed"}}, {"error": {"type": "rate_limited"}}
TIMEOUT = {"error": {"type": "timeout"}}
TWO = [{"name": name, "kind": "push"} for name in ("old", "new")]
PASS_3 = EXACT | {"trials": {"of": "pass^k", "k": 3}}


def examples(n: int, **extra: Any) -> list[dict[str, Any]]:
    return [{"id": f"t{i}", "input": f"question {i}", "expected": "yes", **extra} for i in range(n)]


def trials(outcomes: str) -> list[dict[str, Any]]:
    """One answer for each letter: y passes, n fails, b crashes, t is too slow, l is lost to a rate limit."""
    answers = {"y": {"output": "yes"}, "n": {"output": "no"}, "b": BUG, "t": TIMEOUT, "l": LOST}
    return [answers[letter] for letter in outcomes]


def work_off(caller: Caller, made: Any, config: int, outcomes: Sequence[str]) -> None:
    runner = Runner(caller, made, config)
    while unit := runner.lease()["unit"]:
        runner.post(unit, [{"pos": e["pos"], "samples": trials(outcomes[int(e["id"][1:])])} for e in unit["examples"]])


def finished(caller: Caller, *outcomes: Sequence[str], dataset: str | None = None, **plan: Any) -> Any:
    dataset = dataset or make_dataset(caller, examples(len(outcomes[0])))
    options = {"metrics": [PASS_3], "n_samples": len(outcomes[0][0])} | plan
    made = make_experiment(caller, dataset, TWO[: len(outcomes)], **options)
    for i, rows in enumerate(outcomes):
        work_off(caller, made, i, rows)
    return made


def accuracy(caller: Caller, made: Any, config: str = "old") -> Any:
    return by_name(live(caller, made["id"]))[config]["metrics"]["accuracy"]


def values(caller: Caller, made: Any) -> dict[str, Any]:
    return {row["example_id"]: row["scores"]["accuracy"]["value"] for row in results(caller, made)}


def drawn(n: int, m: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    chances = [rng.choice([1.0, 1.0, 0.9, 0.6, 0.0]) for _ in range(n)]
    return ["".join("y" if rng.random() < chance else "n" for _ in range(m)) for chance in chances]


def pass_all(outcomes: Sequence[str], k: int) -> list[float]:
    return [math.comb(row.count("y"), k) / math.comb(len(row), k) for row in outcomes]


@pytest.mark.parametrize(
    ("rule", "k"), [({"of": "pass^k", "k": 3}, 3), ({"of": "pass@k", "k": 2}, 2), ({"of": "mean"}, 1)]
)
@pytest.mark.parametrize("n_shards", [1, 2], ids=["all scored", "half scored"])
def test_the_point_of_the_curve_that_is_the_value_has_its_interval(
    alice: Caller, rule: dict[str, Any], k: int, n_shards: int
) -> None:
    outcomes = drawn(24, 3, seed=5)
    dataset = make_dataset(alice, examples(24 * n_shards))
    metrics = [EXACT | {"trials": rule}]
    made = make_experiment(alice, dataset, TWO[:1], metrics=metrics, n_samples=3, num_shards=n_shards)
    runner, n_left = Runner(alice, made, 0), len(outcomes)
    while n_left > 0 and (unit := runner.lease()["unit"]):
        n_left -= len(unit["examples"])
        answers = [{"pos": e["pos"], "samples": trials(outcomes[int(e["id"][1:]) % 24])} for e in unit["examples"]]
        runner.post(unit, answers)
    found = accuracy(alice, made)
    (point,) = [point for point in found["trials"]["curve"] if point["k"] == k]
    assert point["value"] == pytest.approx(found["value"])
    assert [point[name] for name in ("lower", "upper", "method")] == [
        found["new_data"][name] for name in ("lower", "upper", "method")
    ]
    assert (found["n_pending"] > 0) == (n_shards > 1) == (found["new_data"]["safe"] != "one look")


def test_the_value_of_a_test_is_its_pass_all(alice: Caller) -> None:
    outcomes = drawn(40, 5, seed=3)
    made = finished(alice, outcomes)
    expected = pass_all(outcomes, 3)
    assert values(alice, made) == {f"t{i}": pytest.approx(value) for i, value in enumerate(expected)}
    found = accuracy(alice, made)
    assert found["value"] == pytest.approx(sum(expected) / 40)
    assert found["method"] == "guarded-t"
    assert 0 < found["lower"] < found["value"] < found["upper"] < 1
    assert "variance_split" not in found or found["variance_split"] is None
    assert recounted(alice, made["id"]) == []


def test_what_the_trials_show(alice: Caller) -> None:
    outcomes = ["yyyyyy", "yyyyyn", "nnnnnn", "yynnyn", "yyyyyy", "yyyyyy"]
    made = finished(alice, outcomes)
    found = accuracy(alice, made)["trials"]
    expected = {k: sum(pass_all(outcomes, k)) / 6 for k in range(1, 7)}
    assert {row["k"]: row["value"] for row in found["curve"]} == {k: pytest.approx(v) for k, v in expected.items()}
    assert [row["method"] for row in found["curve"]] == ["guarded-t"] * 5 + ["clopper-pearson"]
    assert (found["of"], found["k"], found["lost"], found["n_trials"], found["n_tests"]) == (
        "pass^k",
        3,
        "failed",
        6,
        6,
    )
    assert found["verdicts"] == {"fine": 0, "broken": 0, "flaky": 2, "undecided": 4}
    assert found["seen"] == {"passed": 3, "failed": 1, "mixed": 2, "nothing": 0}
    assert found["flaky_share"] == pytest.approx(2 / 6)
    assert found["hidden_flakiness"] == pytest.approx((expected[5] - expected[6]) / expected[5])
    flaky, other, failed, *passed = found["tests"]
    assert [row["example_id"] for row in (flaky, other, failed)] == ["t3", "t1", "t2"]
    assert (flaky["n_passed"], flaky["n_trials"], flaky["seen"], flaky["verdict"]) == (3, 6, "mixed", "flaky")
    assert {(row["seen"], row["verdict"], row["n_more"]) for row in passed} == {("passed", "undecided", 23)}
    scores = np.array(pass_all(outcomes, 3))
    within = float(np.mean(scores**2 - np.array(pass_all(outcomes, 6))))
    assert found["split"]["within"] == pytest.approx(within)
    assert found["split"]["between"] == pytest.approx(float(scores.var(ddof=1)) - within)


def test_with_all_trials_a_test_passes_or_fails(alice: Caller) -> None:
    outcomes = ["yyy"] * 14 + ["yyn"] * 4 + ["nnn"] * 2
    made = finished(alice, outcomes)
    found = accuracy(alice, made)
    assert (found["value"], found["method"], found["strategy"]) == (0.7, "clopper-pearson", "exact")
    assert found["trials"]["split"] is None
    (row,) = [row for row in found["trials"]["curve"] if row["k"] == 3]
    assert (row["lower"], row["upper"]) == (found["lower"], found["upper"])
    metric = ok(alice.get(f"/v1/experiments/{made['id']}"))["experiment"]["plan"]["metrics"][0]
    assert metric["trials"] == {"of": "pass^k", "k": 3, "lost": "failed"} and metric["binary"] is True


def test_pass_any_and_the_mean(alice: Caller) -> None:
    outcomes = ["yyyyy", "ynnnn", "nnnnn", "yynnn"]
    any_3, mean = ({"of": "pass@k", "k": 3}, {"of": "mean"})
    metrics = [EXACT | {"name": name, "trials": rule} for name, rule in (("any", any_3), ("share", mean))]
    made = finished(alice, outcomes, metrics=metrics)
    found = by_name(live(alice, made["id"]))["old"]["metrics"]
    expected = sum(1 - math.comb(row.count("n"), 3) / math.comb(5, 3) for row in outcomes) / 4
    assert found["any"]["value"] == pytest.approx(expected)
    assert found["share"]["value"] == pytest.approx(8 / 20)
    assert found["share"]["trials"]["k"] == 1
    assert recounted(alice, made["id"]) == []


def test_what_the_system_broke_is_a_failed_trial(alice: Caller) -> None:
    made = finished(alice, ["yyybt", "yyyyy", "bbbbb"])
    assert values(alice, made) == {"t0": pytest.approx(0.1), "t1": 1.0, "t2": None}
    found = accuracy(alice, made)
    assert found["value"] == pytest.approx(1.1 / 3)
    assert (found["rows"]["n_failed"], found["rows"]["failed_as"]) == (1, "worst")
    assert found["trials"]["n_incomplete"] == 0
    assert found["trials"]["curve"][2]["value"] == pytest.approx(1.1 / 3)
    assert recounted(alice, made["id"]) == []


def test_with_failures_excluded_trials_still_count_them(alice: Caller) -> None:
    made = finished(alice, ["yyybt", "yyyyy", "bbbbb"], failures="exclude")
    assert accuracy(alice, made)["value"] == pytest.approx(1.1 / 3)


def test_lost_trials_are_missing_with_bounds(alice: Caller) -> None:
    made = finished(alice, ["yyyyy", "yyynn", "yynnl", "yyyyl"])
    found = accuracy(alice, made)
    assert found["value"] == pytest.approx(0.525)
    assert found["trials"]["n_incomplete"] == 2
    assert found["trials"]["bounds"] == {"lower": pytest.approx(0.375), "upper": pytest.approx(0.55)}
    assert recounted(alice, made["id"]) == []


def test_where_too_few_trials_ran_the_test_is_missing(alice: Caller) -> None:
    made = finished(alice, ["yyyyy"] * 9 + ["yylll", "bblll", "lllll"])
    found = accuracy(alice, made)
    assert (found["n"], found["n_error"], found["rows"]["n_missing"]) == (9, 3, 3)
    assert found["trials"]["bounds"] == {"lower": pytest.approx(9 / 12), "upper": pytest.approx((9 + 1 + 0.1 + 1) / 12)}
    codes = {row["example_id"]: row["scores"]["accuracy"]["error_code"] for row in results(alice, made)}
    assert [codes[f"t{i}"] for i in (9, 10, 11)] == ["no_output"] * 3
    assert recounted(alice, made["id"]) == []


def test_crashes_can_be_missing_too(alice: Caller) -> None:
    rule = {"of": "pass^k", "k": 3, "lost": "missing"}
    made = finished(alice, ["yyybt", "yyyyy", "bbbbb"], metrics=[EXACT | {"trials": rule}])
    found = accuracy(alice, made)
    assert (found["rows"]["n_failed"], found["rows"]["n_missing"]) == (0, 1)
    assert values(alice, made) == {"t0": 1.0, "t1": 1.0, "t2": None}
    assert found["trials"]["bounds"] == {"lower": pytest.approx(1.1 / 3), "upper": 1.0}


def test_two_configs_are_compared_by_their_tests(alice: Caller) -> None:
    old, new = drawn(40, 5, seed=5), drawn(40, 5, seed=6)
    made = finished(alice, old, new)
    differences = np.array(pass_all(new, 3)) - np.array(pass_all(old, 3))
    a, b = (made["configs"][i]["id"] for i in (1, 0))
    found = ok(alice.get(f"/v1/compare?a={a}&b={b}"))["comparison"]
    assert found["delta"] == pytest.approx(float(differences.mean()))
    board = by_name(live(alice, made["id"]))
    (versus,) = (config["versus_leader"] for config in board.values() if config["versus_leader"])
    assert abs(versus["delta"]) == pytest.approx(abs(found["delta"]))


def test_clusters(alice: Caller) -> None:
    rows = [row | {"metadata": {"doc": i // 4}} for i, row in enumerate(examples(20))]
    outcomes = drawn(20, 5, seed=8)
    made = finished(alice, outcomes, dataset=make_dataset(alice, rows), cluster_by="metadata.doc")
    found = accuracy(alice, made)
    curve = found["trials"]["curve"][2]
    assert (found["method"], curve["method"]) == ("guarded-cr1", "guarded-cr1")
    assert (curve["value"], curve["lower"], curve["upper"]) == pytest.approx(
        (found["value"], found["lower"], found["upper"])
    )
    assert found["trials"]["split"] is None


def test_shuffled_trials_change_nothing(alice: Caller) -> None:
    rng = random.Random(4)
    outcomes = [row.replace("n", rng.choice("nbl")) for row in drawn(30, 5, seed=9)]
    shuffled = ["".join(rng.sample(row, 5)) for row in outcomes]
    dataset = make_dataset(alice, examples(30))
    first, second = (accuracy(alice, finished(alice, rows, dataset=dataset)) for rows in (outcomes, shuffled))
    assert first == second


def test_the_list_of_tests_is_capped_with_a_count(alice: Caller) -> None:
    made = finished(alice, ["yyy"] * 55 + ["yyn"] * 5, metrics=[EXACT | {"trials": {"of": "mean"}}])
    found = accuracy(alice, made)["trials"]
    assert (found["n_tests"], len(found["tests"])) == (60, 50)
    assert [row["verdict"] for row in found["tests"][:6]] == ["flaky"] * 5 + ["undecided"]


def test_a_metric_added_later(alice: Caller) -> None:
    from tests.experiments.conftest import run_units

    made = finished(alice, ["yyyyy", "yyyyn"], metrics=[EXACT])
    assert "trials" not in accuracy(alice, made)
    rule = {"of": "pass^k", "k": 5}
    added = {"metrics": [EXACT | {"name": "all five", "trials": rule}]}
    ok(alice.post(f"/v1/experiments/{made['id']}/metrics", added))
    run_units()
    found = by_name(live(alice, made["id"]))["old"]["metrics"]["all five"]
    assert (found["value"], found["trials"]["n_tests"]) == (0.5, 2)
    client = {"name": "mine", "source": "client", "binary": True, "trials": {"of": "mean"}}
    answer = ok(alice.post(f"/v1/experiments/{made['id']}/metrics", {"metrics": [client]}), 422)
    assert [error["pointer"] for error in answer["errors"]] == ["/metrics/0/trials"]


@pytest.mark.parametrize(
    ("metric", "n_samples", "pointer"),
    [
        ({"trials": {"of": "pass^k", "k": 4}}, 3, "/trials/k"),
        ({"trials": {"of": "pass^k"}}, 3, "/trials/k"),
        ({"trials": {"of": "mean", "k": 2}}, 3, "/trials/k"),
        ({"trials": {"of": "pass^k", "k": 0}}, 3, "/trials/k"),
        ({"trials": {"of": "pass^k", "k": 21}}, 3, "/trials/k"),
        ({"trials": {"of": "pass^k", "k": 1}}, 1, "/trials"),
        ({"trials": {"of": "pass"}}, 3, "/trials/of"),
        ({"trials": {}}, 3, "/trials/of"),
        ({"trials": {"of": "mean", "lost": "passed"}}, 3, "/trials/lost"),
        ({"trials": {"of": "mean", "trials": 3}}, 3, "/trials/trials"),
        ({"trials": "pass^3"}, 3, "/trials"),
        ({"trials": {"of": "mean"}, "type": "distributive"}, 3, "/trials"),
        ({"trials": {"of": "mean"}, "higher_is_better": False}, 3, "/trials"),
        ({"evaluator": "rouge-l", "trials": {"of": "pass^k", "k": 2}}, 3, "/trials"),
    ],
)
def test_it_refuses_what_cannot_be_trials(alice: Caller, metric: Any, n_samples: int, pointer: str) -> None:
    plan = {"dataset_id": make_dataset(alice, n=3), "metrics": [EXACT | metric], "n_samples": n_samples}
    answer = ok(alice.post("/v1/experiments", {"name": "e", "plan": plan, "configs": TWO}), 422)
    assert [error["pointer"] for error in answer["errors"]] == [f"/plan/metrics/0{pointer}"]


def test_metrics_of_other_trials_are_not_compared(alice: Caller) -> None:
    dataset = make_dataset(alice, examples(6))
    first = finished(alice, ["yyyyy"] * 6, dataset=dataset)
    second = finished(alice, ["yyyyy"] * 6, dataset=dataset, metrics=[EXACT | {"trials": {"of": "pass^k", "k": 2}}])
    answer = ok(alice.get(f"/v1/compare?a={first['id']}&b={second['id']}"), 422)
    assert "trials" in answer["errors"][0]["detail"]


def test_strangers_see_none_of_it(alice: Caller, bob: Caller, charlie: Caller) -> None:
    made = finished(alice, ["yyyyn"] * 3)
    assert accuracy(bob, made)["trials"] == accuracy(alice, made)["trials"]
    ok(charlie.get(f"/v1/experiments/{made['id']}/live"), 404)


def test_other_metrics_are_stored_as_before() -> None:
    # A digest of what a benchmark measures by takes each key.
    assert "trials" not in Metric(name="accuracy", source="pass").to_json()
    metric = Metric(name="accuracy", source="pass", trials=TrialRule("pass^k", 3))
    assert Metric.from_json(metric.to_json()) == metric
    adaptive = Metric(name="accuracy", source="pass", trials=TrialRule("pass^k", 3, adaptive=True))
    assert Metric.from_json(adaptive.to_json()) == adaptive
    assert metric.to_json()["trials"] == {"of": "pass^k", "k": 3, "lost": "failed"}


ADAPTIVE = EXACT | {"trials": {"of": "pass^k", "k": 2, "adaptive": True}}


def test_of_adaptive_trials_the_first_k_count(alice: Caller) -> None:
    # Each test was tried until it passed and failed; `l` was not run.
    outcomes = ["yyynllll", "ynllllll", "nyllllll", "yyyyyyyy", "nnnnnnyl", "lyyynlll", "ybllllll", "nnnnnnnn"]
    made = finished(alice, outcomes, metrics=[ADAPTIVE])
    firsts = [1, 0, 0, 1, 0, 1, 0, 0]
    assert values(alice, made) == {f"t{i}": value for i, value in enumerate(firsts)}
    found = accuracy(alice, made)
    trials = found["trials"]

    assert found["value"] == pytest.approx(3 / 8)
    assert [row["k"] for row in trials["curve"]] == [1, 2]
    assert trials["curve"][0]["value"] == pytest.approx((1 + 0.5 + 0.5 + 1 + 0 + 1 + 0.5 + 0) / 8)
    assert (trials["curve"][1]["value"], trials["n_incomplete"]) == (pytest.approx(3 / 8), 0)
    assert trials["bounds"] == {"lower": found["value"], "upper": found["value"]}
    assert (trials["adaptive"], trials["verdict_method"], trials["n_trials"]) == (True, "anytime", 8)
    by_id = {row["example_id"]: row for row in trials["tests"]}
    assert [by_id[f"t{i}"]["n_trials"] for i in range(8)] == [4, 2, 2, 8, 7, 4, 2, 8]
    assert trials["verdicts"] == {"fine": 0, "broken": 0, "flaky": 6, "undecided": 2}
    assert (by_id["t3"]["n_more"], by_id["t7"]["n_more"]) == (61, 61)
    low, high = anytime_share(8, 8, None, 0.95)
    assert (by_id["t3"]["at_least"], by_id["t3"]["at_most"]) == (pytest.approx(low), high)
    assert recounted(alice, made["id"]) == []
    metric = ok(alice.get(f"/v1/experiments/{made['id']}"))["experiment"]["plan"]["metrics"][0]
    assert metric["trials"] == {"of": "pass^k", "k": 2, "lost": "failed", "adaptive": True}


@pytest.mark.parametrize(("rule", "value"), [({"of": "mean"}, 2 / 4), ({"of": "pass@k", "k": 2}, 3 / 4)])
def test_other_values_of_adaptive_trials(alice: Caller, rule: Any, value: float) -> None:
    made = finished(alice, ["yyyn", "ynll", "nyll", "nnny"], metrics=[EXACT | {"trials": rule | {"adaptive": True}}])
    assert accuracy(alice, made)["value"] == pytest.approx(value)
    assert recounted(alice, made["id"]) == []


def test_a_test_that_stopped_before_k_trials_is_bounded(alice: Caller) -> None:
    made = finished(alice, ["yyyl", "ylll", "nyll"], metrics=[ADAPTIVE])
    trials = accuracy(alice, made)["trials"]
    assert (trials["n_incomplete"], trials["bounds"]) == (
        1,
        {"lower": pytest.approx(1 / 3), "upper": pytest.approx(2 / 3)},
    )
