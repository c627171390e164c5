"""The Pareto front: who is on it, by whom the others are beaten, and how sure that is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from evalsvc.experiments.definition.metrics import Metric
from evalsvc.experiments.inference.pareto import CLEARLY, Field, _beaten_by, _dominance
from evalsvc.experiments.models import Config, ExperimentPlan
from tests.conftest import Caller
from tests.experiments.conftest import by_name, make_dataset, make_experiment, ok
from tests.experiments.pushing import Runner

METRICS = [
    {"name": "right", "source": "/right", "binary": True},
    {"name": "price", "source": "/price", "higher_is_better": False},
    {"name": "words", "source": "/words", "type": "untyped"},
    {"name": "share", "source": "/right", "denominator": "/words", "type": "ratio"},
]
N = 60
CONFIGS = {
    "strong": lambda pos: {"right": int(pos % 10 > 0), "price": 2 + pos % 3},
    "weak": lambda pos: {"right": pos % 2, "price": 5 + pos % 4},
    "cheap": lambda pos: {"right": pos % 2, "price": 1 + pos % 2 / 10},
    "nearly": lambda pos: {"right": int(pos % 10 > 0 and pos != 1), "price": 2 + pos % 3 + (pos == 5) / 100},
}


def run(caller: Caller, *, n_units: int | None = None) -> str:
    """Let four configs answer; with `n_units`, each only so many units of ten."""
    configs = [{"name": name, "kind": "push"} for name in CONFIGS]
    made = make_experiment(caller, make_dataset(caller, n=N), configs, metrics=METRICS, num_shards=4)
    for i, answer in enumerate(CONFIGS.values()):
        runner = Runner(caller, made, i)
        if n_units is None:
            runner.run(lambda example, answer=answer: {"output": "x", "words": 3} | answer(example["pos"]))
        for _ in range(n_units or 0):
            unit = runner.lease(n=10)["unit"]
            outputs = [
                {"pos": one["pos"], "output": {"output": "x", "words": 3} | answer(one["pos"])}
                for one in unit["examples"]
            ]
            runner.post(unit, outputs)
    return str(made["id"])


def pareto(caller: Caller, id: str, metrics: str = "right,price") -> Any:
    return ok(caller.get(f"/v1/experiments/{id}/pareto?metrics={metrics}"))


def test_it_names_the_front_and_says_how_sure_the_rest_is(alice: Caller) -> None:
    view = pareto(alice, run(alice))
    found = by_name(view)

    assert {config["name"] for config in view["configs"] if config["on_front"]} == {"strong", "cheap"}
    assert view["front"] == [found["strong"]["id"], found["cheap"]["id"]]
    assert (view["covers"], view["safe"], view["n_comparisons"]) == ("new data", "one look", 6)
    assert view["level_of_each"] == pytest.approx(1 - 0.05 / 6)
    assert found["strong"]["values"] == {"right": {"value": 0.9, "n": N}, "price": {"value": 3.0, "n": N}}
    assert (found["strong"]["is_dominated"], found["strong"]["dominated_by"]) == (None, [])

    assert found["weak"]["is_dominated"] == "clearly"
    strong = next(one for one in found["weak"]["dominated_by"] if one["config"] == "strong")
    assert (strong["sure"], strong["n"], strong["n_fresh"]) == ("clearly", N, N)
    assert strong["better_by"]["right"]["delta"] == pytest.approx(0.4)
    # The price is lower: that is better, and so above 0.
    assert strong["better_by"]["price"]["delta"] == pytest.approx(3.5)
    assert 0 < strong["better_by"]["price"]["lower"] < 3.5 < strong["better_by"]["price"]["upper"]

    assert found["nearly"]["is_dominated"] == "inconclusive"
    assert found["nearly"]["dominated_by"][0]["better_by"]["right"] | {"lower": 0, "upper": 0, "method": ""} == {
        "delta": pytest.approx(1 / N), "lower": 0, "upper": 0, "method": "", "n_equal": N - 1,
    }  # fmt: skip


def test_while_it_runs_intervals_may_be_watched(alice: Caller) -> None:
    view = pareto(alice, run(alice, n_units=3))
    weak = by_name(view)["weak"]

    assert view["safe"] == "safe while watched"
    # The price has no range, so nothing can be said about it at every look.
    assert weak["is_dominated"] == "no verdict"
    (by,) = [one for one in weak["dominated_by"] if one["config"] == "strong"]
    assert (by["n"], by["better_by"]["price"]["method"], by["better_by"]["right"]["method"]) == (30, "none", "betting")


@pytest.mark.parametrize(("name", "reason"), [("words", "untyped"), ("share", "ratio of sums")])
def test_metrics_that_cannot_be_paired_are_refused_here_and_in_comparisons(
    alice: Caller, name: str, reason: str
) -> None:
    made = make_experiment(
        alice, make_dataset(alice, n=2), [{"name": n, "kind": "push"} for n in "ab"], metrics=METRICS
    )
    a, b = (config["id"] for config in made["configs"])
    front = ok(alice.get(f"/v1/experiments/{made['id']}/pareto?metrics=right,{name}"), 422)["errors"][0]
    pair = ok(alice.get(f"/v1/compare?a={a}&b={b}&metric={name}"), 422)["errors"][0]

    assert (front["pointer"], pair["pointer"]) == ("/metrics", "/metric")
    assert front["detail"] == pair["detail"]
    assert f"'{name}' is" in front["detail"] and reason in front["detail"]


@pytest.mark.parametrize(
    "metrics", ["right", "right,right", "right,price,words,share", "right,share", "right,none", ""]
)
def test_it_says_which_metrics_it_takes(alice: Caller, metrics: str) -> None:
    made = make_experiment(alice, make_dataset(alice, n=2), [{"name": "a", "kind": "push"}], metrics=METRICS)
    answer = alice.get(f"/v1/experiments/{made['id']}/pareto?metrics={metrics}")

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/metrics")


def test_before_the_first_answer_nobody_is_on_the_front(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=2), [{"name": "a", "kind": "push"}], metrics=METRICS)
    view = pareto(alice, made["id"])

    assert view["front"] == []
    assert view["configs"][0]["values"] == {"right": {"value": None, "n": 0}, "price": {"value": None, "n": 0}}


def test_a_stranger_sees_nothing(alice: Caller, charlie: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=2), [{"name": "a", "kind": "push"}], metrics=METRICS)
    path = f"/v1/experiments/{made['id']}/pareto?metrics=right,price"

    assert charlie.get(path).status_code == charlie.get(path.replace(made["id"], "1")).status_code == 404


def field_of(scores: Any, *, state: str = "done", fresh_from: int = 0) -> Field:
    n_metrics, n_configs, n = scores.shape
    plan = SimpleNamespace(state=state, n_examples=n, level=0.95)
    metrics = [Metric(str(m), "client", value_range=(0.0, 1.0), higher_is_better=m != 1) for m in range(n_metrics)]
    configs = [SimpleNamespace(pk=i, name=str(i), state="completed", fresh_from=fresh_from) for i in range(n_configs)]
    n_comparisons = n_configs * (n_configs - 1) // 2
    return Field(cast(ExperimentPlan, plan), metrics, cast("list[Config]", configs), scores, n_comparisons)


def test_dominance_is_what_the_definition_says() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        scores = rng.integers(0, 3, (3, 6, 8)) / 2
        scores[rng.random(scores.shape) < 0.1] = np.nan
        field = field_of(scores)
        for i in range(6):
            expected = []
            for j in range(6):
                known = np.isfinite(scores[:, i]).all(axis=0) & np.isfinite(scores[:, j]).all(axis=0)
                gains = [
                    sign * (scores[m, j][known].sum() - scores[m, i][known].sum()) for m, sign in enumerate((1, -1, 1))
                ]
                if known.any() and min(gains) >= 0 and max(gains) > 0:
                    expected.append(j)
            assert _beaten_by(field, i) == expected


@pytest.mark.parametrize("state", ["done", "running"])
def test_of_equal_configs_hardly_ever_one_is_clearly_beaten(state: str) -> None:
    rng, n_wrong = np.random.default_rng(11), 0
    for _ in range(200):
        field = field_of((rng.random((2, 8, 60)) < 0.7).astype(float), state=state)
        claims = [_dominance(field, i, j)["sure"] for i in range(8) for j in _beaten_by(field, i)]
        n_wrong += CLEARLY in claims

    # At most one in twenty by promise; both metrics must err at once, so far fewer.
    assert n_wrong <= 4


def test_examples_that_its_designer_has_seen_make_nobody_sure() -> None:
    scores = np.zeros((2, 2, 100))
    scores[0, 1], scores[1, 0] = 1.0, 1.0
    assert _dominance(field_of(scores), 0, 1)["sure"] == CLEARLY

    found = _dominance(field_of(scores, fresh_from=100), 0, 1)
    assert (found["sure"], found["n"], found["n_fresh"]) == ("inconclusive", 100, 0)
