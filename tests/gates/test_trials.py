"""Gates on pass^k: one number of each test, and lost trials as bad and as good as they can have been."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from evalsvc.stats.estimates.flakiness import adjust_holm, compute_worse_p
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
    assert (rule["estimate"], rule["n"], rule["n_missing"], rule["warnings"]) == (1.0, 40, 0, ["lost_trials"])
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
    assert (rule["outcome"], rule["warnings"]) == ("undecided", ["lost_trials"])
    assert rule["lower"] <= -0.3 + 1e-9 and rule["upper"] >= 0.6 - 1e-9


def test_watched_gates_take_lost_trials_as_failed_too(alice: Caller) -> None:
    whole, lost = (finished(alice, 3, [row] * 4 + ["yyyyy"] * 36) for row in ("yyyyy", "yyyyl"))
    complete, bounded = (decide(alice, made, {"at_least": 0.6}, looks="watched") for made in (whole, lost))
    assert complete["outcome"] == "pass"
    assert (complete["warnings"], bounded["warnings"]) == ([], ["lost_trials"])
    assert bounded["lower"] < complete["lower"]


@pytest.mark.parametrize("n_lost", [3, 5, 20])
def test_every_surface_gives_one_verdict_on_lost_trials(alice: Caller, n_lost: int) -> None:
    # The lost trials of 20 tests are enough to turn the difference around, those of 5 are not, and 3 are too few to ask.
    old, new = ["yyyyn"] * 40, ["yyyll"] * n_lost + ["yyyyy"] * 16 + ["yyyyn"] * (24 - n_lost)
    made = finished(alice, 3, old, new)
    live = alice.get(f"/v1/experiments/{made['id']}/live").json()
    configs = {config["name"]: config for config in live["configs"]}
    sides = {name: {"experiment_id": made["id"], "config": name} for name in ("old", "new")}
    compared = alice.get(f"/v1/compare?a={configs['new']['id']}&b={configs['old']['id']}").json()["comparison"]
    shown = configs["old"]["versus_leader"]
    rule = decide(alice, made, {"better_by": 0.0}, candidate=sides["new"], baseline=sides["old"], level=0.975)
    expected = {3: "better", 5: "better", 20: "inconclusive"}[n_lost]
    assert compared["word"] == expected
    assert shown["word"] == {"better": "worse"}.get(expected, expected)
    assert shown["new_data"]["upper"] == pytest.approx(-compared["new_data"]["lower"])
    assert (compared["reason"], compared["about_n_more"]) == (("much_missing", None) if n_lost == 20 else (None, 0))
    assert rule["outcome"] == ("pass" if expected == "better" else "undecided")
    assert rule["lower"] == pytest.approx(compared["new_data"]["lower"])
    # Each of these tests scores 0.1 to 1.
    low = (n_lost * (0.1 - 0.4) + 16 * 0.6) / 40
    assert compared["this_set"]["lower"] == pytest.approx(low)
    assert not compared["this_set"]["exact"]


def test_which_tests_got_worse(alice: Caller) -> None:
    old = ["y" * 10] * 18 + ["n" * 10] * 2
    new = ["n" * 9 + "y", "y" * 8 + "nn"] + ["y" * 10] * 17 + ["y" * 8 + "ll"]
    made = finished(alice, 3, old, new)
    live = alice.get(f"/v1/experiments/{made['id']}/live").json()
    ids = {config["name"]: config["id"] for config in live["configs"]}
    screen = alice.get(f"/v1/compare?a={ids['new']}&b={ids['old']}").json()["trials"]
    assert (screen["level"], screen["n_tests"], screen["n_worse"], screen["n_better"]) == (0.95, 20, 1, 2)
    words = {test["example_id"]: test["word"] for test in screen["tests"]}
    assert {id for id, word in words.items() if word == "worse"} == {"e0"}
    assert {id for id, word in words.items() if word == "better"} == {"e18", "e19"}
    by_id = {test["example_id"]: test for test in screen["tests"]}
    assert (by_id["e19"]["a"]["n_passed"], by_id["e19"]["a"]["n_trials"]) == (8, 8)
    # One of 10 against 10 of 10: C(10, 1) C(10, 10) / C(20, 11), for twenty tests. No failure against two is chance.
    assert by_id["e0"]["adjusted_p"] == pytest.approx(20 * 10 / math.comb(20, 11))
    assert by_id["e1"]["word"] == "inconclusive"
    turned = alice.get(f"/v1/compare?a={ids['old']}&b={ids['new']}").json()["trials"]
    assert (turned["n_worse"], turned["n_better"]) == (2, 1)


def test_five_trials_need_four_failures_and_three_show_nothing_in_two_tests() -> None:
    assert compute_worse_p(1, 5, 5, 5) <= 0.05 < compute_worse_p(2, 5, 5, 5)
    assert compute_worse_p(6, 10, 10, 10) <= 0.05 < compute_worse_p(7, 10, 10, 10)
    assert min(adjust_holm([compute_worse_p(0, 3, 3, 3), 1.0])) > 0.05
    # Eight failures of ten among a hundred tests.
    assert 100 * compute_worse_p(2, 10, 10, 10) <= 0.05 < 100 * compute_worse_p(3, 10, 10, 10)


@pytest.mark.parametrize("chance", [0.5, 0.9])
def test_equal_tests_are_called_worse_in_at_most_five_percent_of_comparisons(chance: float) -> None:
    rng = np.random.default_rng(11)
    n_wrong = 0
    for _ in range(400):
        now, before = rng.binomial(10, chance, (2, 20)).tolist()
        p_values = [compute_worse_p(first, 10, second, 10) for first, second in zip(now, before, strict=True)]
        n_wrong += min(adjust_holm(p_values)) <= 0.05
    assert n_wrong <= 30
