"""Gates on pass^k: one number of each test, and lost trials as bad and as good as they can have been."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from evalsvc.stats.formulas.clusters import Moments
from tests.conftest import Caller
from tests.experiments.pushing import Runner
from tests.factories import EXACT, make_dataset, make_experiment
from tests.gates.shapes import TWO, ask, examples

LOST = {"error": {"type": "rate_limited"}}


def finished(caller: Caller, k: int, *configs: list[str]) -> Any:
    """An experiment in which each config passes (y), fails (n) or loses (l) the trials of each test."""
    metric = EXACT | {"trials": {"of": "pass^k", "k": k}}
    n, m = len(configs[0]), len(configs[0][0])
    made = make_experiment(
        caller, make_dataset(caller, examples(n)), TWO[: len(configs)], metrics=[metric], n_samples=m
    )
    for i, outcomes in enumerate(configs):
        runner = Runner(caller, made, i)
        while unit := runner.lease()["unit"]:
            rows = []
            for e in unit["examples"]:
                samples = {"y": {"output": e["expected"]}, "n": {"output": "no"}, "l": LOST}
                rows.append({"pos": e["pos"], "samples": [samples[outcome] for outcome in outcomes[int(e["id"][1:])]]})
            runner.post(unit, rows)
    return made


def decide(caller: Caller, made: Any, rule: dict[str, Any], **body: Any) -> Any:
    candidate = {"experiment_id": made["id"], "config": "old"}
    gate = ask(caller, {"candidate": candidate} | body, {"metric": "accuracy"} | rule)
    return gate["rules"][0] | {"outcome": gate["outcome"]}


def pass_all(passed: int, trials: int, k: int) -> float:
    return math.comb(passed, k) / math.comb(trials, k)


def test_a_limit_on_pass_all_is_one_on_the_tests(alice: Caller) -> None:
    outcomes = ["yyyyy"] * 30 + ["yyyyn"] * 6 + ["nnnnn"] * 4
    made = finished(alice, 3, outcomes)
    row = np.array([pass_all(trials.count("y"), 5, 3) for trials in outcomes])
    rule = decide(alice, made, {"at_least": 0.6})
    assert rule["outcome"] == "pass"
    assert rule["estimate"] == pytest.approx(row.mean())
    assert rule["lower"] == pytest.approx(Moments.from_row(row).end(0.0, 0.05))
    assert (rule["method"], rule["n"], rule["n_missing"]) == ("guarded-t", 40, 0)
    assert decide(alice, made, {"at_least": 0.8})["outcome"] == "undecided"
    assert decide(alice, made, {"at_least": 0.97})["outcome"] == "fail"


def test_no_failure_in_14_tests_shows_four_fifths(alice: Caller) -> None:
    assert decide(alice, finished(alice, 3, ["yyy"] * 14), {"at_least": 0.8})["outcome"] == "pass"
    rule = decide(alice, finished(alice, 3, ["yyy"] * 13), {"at_least": 0.8})
    assert (rule["outcome"], rule["method"]) == ("undecided", "clopper-pearson")


def test_lost_trials_are_as_bad_as_they_can_be(alice: Caller) -> None:
    outcomes = ["yyyyy"] * 36 + ["yyyyl"] * 4
    made = finished(alice, 3, outcomes)
    rule = decide(alice, made, {"at_least": 0.9})
    worst, best = np.array([1.0] * 36 + [0.4] * 4), np.ones(40)
    assert (rule["estimate"], rule["n_missing"]) == (1.0, 4)
    assert rule["lower"] == pytest.approx(Moments.from_row(worst).end(0.0, 0.05))
    assert rule["upper"] == pytest.approx(min(1.0, Moments.from_row(best).end(1.0, 0.05)))
    assert decide(alice, finished(alice, 3, ["yyyyy"] * 40), {"at_least": 0.9})["lower"] > rule["lower"]


def test_too_few_trials_are_bounded_by_those_that_ran(alice: Caller) -> None:
    made = finished(alice, 3, ["yyyyy"] * 38 + ["yylll", "nnnll"])
    rule = decide(alice, made, {"at_least": 0.5}, covers="this_set")
    # Two passed and three lost may have been anything; with three failed, two more passes are no pass of three.
    assert (rule["lower"], rule["upper"]) == (pytest.approx(38 / 40), pytest.approx(39 / 40))


def test_two_configs(alice: Caller) -> None:
    old, new = ["yyyyn"] * 40, ["yyyyy"] * 30 + ["yyyyn"] * 10
    made = finished(alice, 3, old, new)
    baseline = {"experiment_id": made["id"], "config": "old"}
    candidate = {"experiment_id": made["id"], "config": "new"}
    better = decide(alice, made, {"better_by": 0.0}, candidate=candidate, baseline=baseline)
    assert (better["outcome"], better["estimate"]) == ("pass", pytest.approx(0.6 * 30 / 40))
    worse = decide(alice, made, {"not_worse_by": 0.1}, candidate=baseline, baseline=candidate)
    assert worse["outcome"] == "fail"


def test_lost_trials_decide_no_comparison(alice: Caller) -> None:
    old, new = ["yyyyn"] * 40, ["yyyll"] * 40
    made = finished(alice, 3, old, new)
    sides = {name: {"experiment_id": made["id"], "config": name} for name in ("old", "new")}
    rule = decide(alice, made, {"better_by": 0.0}, candidate=sides["new"], baseline=sides["old"])
    # Each test of the candidate is between 0.1 and 1, each of the baseline 0.4.
    assert (rule["outcome"], rule["n_missing"]) == ("undecided", 40)
    assert rule["lower"] <= -0.3 + 1e-9 and rule["upper"] >= 0.6 - 1e-9


def test_watched_gates_take_lost_trials_as_failed_too(alice: Caller) -> None:
    whole, lost = (finished(alice, 3, [row] * 4 + ["yyyyy"] * 36) for row in ("yyyyy", "yyyyl"))
    complete, bounded = (decide(alice, made, {"at_least": 0.6}, looks="watched") for made in (whole, lost))
    assert complete["outcome"] == "pass"
    assert (complete["n_missing"], bounded["n_missing"]) == (0, 4)
    assert bounded["lower"] < complete["lower"]
