"""The leader's end that selection makes too good, of scores in a range: Gaffke's bound at the level for all configs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evalsvc.experiments.reporting.overview import build_overviews
from evalsvc.experiments.selectors import get_plan
from evalsvc.stats.basics.sums import compute_sums
from evalsvc.stats.formulas.dirichlet import dirichlet_bound
from evalsvc.stats.formulas.extremes import guarded_t
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.experiments.conftest import by_name, live
from tests.experiments.pushing import Runner
from tests.factories import make_dataset, make_experiment, ok

N, N_CONFIGS = 60, 4
GRADE = {"name": "grade", "source": "client", "value_range": [0, 1]}


def run_all(caller: Caller, metric: dict[str, Any], scores: Any, failed: range = range(0), **plan: Any) -> Any:
    """Work off a config for each row of scores; the outputs of the first fail on some examples."""
    configs = [{"name": f"config {i}", "kind": "push"} for i in range(len(scores))]
    made = make_experiment(caller, make_dataset(caller, n=N), configs, metrics=[metric], **plan)
    for i, row in enumerate(scores):
        runner = Runner(caller, made, i)
        unit = runner.lease(n=N)["unit"]
        rows = [
            {"pos": e["pos"], "error": {"type": "bug"}}
            if i == 0 and e["pos"] in failed
            else {"pos": e["pos"], "output": "x", "scores": {"grade": float(row[e["pos"]])}}
            for e in unit["examples"]
        ]
        runner.post(unit, rows)
    return made


def draw_scores() -> Any:
    """The first config is the best."""
    scores = np.random.default_rng(5).beta(3.0, 1.0, (N_CONFIGS, N))
    scores[0] = np.sqrt(scores[0])
    return np.round(scores, 6)


@pytest.mark.parametrize("failed", [range(0), range(3)])
def test_the_lower_end_is_gaffkes_at_the_level_for_all_configs(alice: Caller, failed: range) -> None:
    scores = draw_scores()
    made = run_all(alice, GRADE, scores, failed)
    view = live(alice, made["id"])
    found = by_name(view)["config 0"]["metrics"]["grade"]
    counted = scores[0].copy()
    counted[list(failed)] = 0.0
    plain = guarded_t(compute_sums(counted), (0.0, 1.0), 0.95)

    assert view["leader"] == made["configs"][0]["id"] and found["rows"]["chosen_among"] == N_CONFIGS
    assert found["lower"] == pytest.approx(dirichlet_bound(counted, 0.0, 0.05 / 2 / N_CONFIGS))
    assert found["upper"] == pytest.approx(plain[1])
    assert found["lower"] < plain[0]
    report = ok(alice.get(f"/v1/experiments/{made['id']}/report"))
    assert report["live"] == view
    with account_scope(alice.account.pk):
        plan = get_plan(account=alice.account, id=int(made["id"]))
        overview = build_overviews([plan])[plan.pk]
    assert overview.figures is not None
    assert (overview.figures["lower"], overview.figures["upper"]) == (found["lower"], found["upper"])


def test_where_lower_is_better_the_upper_end_is(alice: Caller) -> None:
    scores = 1.0 - draw_scores()
    made = run_all(alice, {**GRADE, "higher_is_better": False}, scores)
    found = by_name(live(alice, made["id"]))["config 0"]["metrics"]["grade"]

    assert found["upper"] == pytest.approx(dirichlet_bound(scores[0], 1.0, 0.05 / 2 / N_CONFIGS))
    assert found["lower"] == pytest.approx(guarded_t(compute_sums(scores[0]), (0.0, 1.0), 0.95)[0])


def test_a_chosen_one_never_looks_better_than_one_that_was_not(alice: Caller) -> None:
    """With few high scores Gaffke's bound at the level for two configs lies above the guarded one for one."""
    scores = np.round(np.random.default_rng(2).beta(0.3, 3.0, (2, N)), 6)
    scores[0] = scores.max(axis=0)
    found = by_name(live(alice, run_all(alice, GRADE, scores)["id"]))["config 0"]["metrics"]["grade"]
    plain = guarded_t(compute_sums(scores[0]), (0.0, 1.0), 0.95)
    bound = dirichlet_bound(scores[0], 0.0, 0.05 / 4)

    assert found["lower"] == pytest.approx(min(plain[0], bound))


def test_a_config_alone_was_not_chosen(alice: Caller) -> None:
    scores = draw_scores()[:1]
    found = by_name(live(alice, run_all(alice, GRADE, scores)["id"]))["config 0"]["metrics"]["grade"]

    assert (found["lower"], found["upper"]) == pytest.approx(guarded_t(compute_sums(scores[0]), (0.0, 1.0), 0.95))
