"""Plans that say what examples share: their intervals are over clusters, and what cannot be so is not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import Caller
from tests.experiments.conftest import live, make_dataset, make_experiment, ok
from tests.experiments.pushing import Runner
from tests.stats.reference import guarded_over_clusters

MINE = {"name": "mine", "source": "client", "value_range": [0, 1]}
BOTH = [{"name": "a", "kind": "push"}, {"name": "b", "kind": "push"}]
DOC = "metadata.document"


def dataset(caller: Caller, documents: list[Any]) -> str:
    rows = [
        {"id": str(i), "input": i, "expected": "x", "metadata": {} if one is None else {"document": one}}
        for i, one in enumerate(documents)
    ]
    return make_dataset(caller, rows)


def clustered(caller: Caller, documents: list[Any], **plan: Any) -> Any:
    plan = {"metrics": [MINE], "cluster_by": DOC} | plan
    return make_experiment(caller, dataset(caller, documents), BOTH, **plan)


def score(caller: Caller, made: Any, config: int, value: Any, *, units: int = 1000) -> None:
    runner = Runner(caller, made, config)
    while units and (unit := runner.lease()["unit"]):
        rows = [{"pos": e["pos"], "output": "x", "scores": {"mine": value(int(e["id"]))}} for e in unit["examples"]]
        runner.post(unit, rows)
        units -= 1


def shown(caller: Caller, made: Any, config: int = 0, metric: str = "mine") -> Any:
    return live(caller, made["id"])["configs"][config]["metrics"][metric]


def refused(caller: Caller, documents: list[Any], **plan: Any) -> tuple[str, str]:
    plan = {"dataset_id": dataset(caller, documents), "metrics": [MINE], "cluster_by": DOC} | plan
    error = ok(caller.post("/v1/experiments", {"name": "x", "plan": plan, "configs": BOTH}), 422)["errors"][0]
    return error["pointer"], error["detail"]


def of_documents(i: int) -> float:
    """Scores that a document of four questions shares in the most part."""
    return round(((i // 4) * 37 % 11) / 10 * 0.8 + 0.05 * (i % 4), 6)


DOCUMENTS = [f"d{i // 4}" for i in range(40)]


def test_the_headline_is_the_interval_over_clusters(alice: Caller) -> None:
    made = clustered(alice, DOCUMENTS)
    score(alice, made, 0, of_documents)
    found, head = shown(alice, made), live(alice, made["id"])["experiment"]
    scores = [of_documents(i) for i in range(40)]
    # The better of two configs was chosen for its value: its lower end is at half of the error.
    lower, _ = guarded_over_clusters(scores, DOCUMENTS, 0.975, (0.0, 1.0))
    _, upper = guarded_over_clusters(scores, DOCUMENTS, 0.95, (0.0, 1.0))

    assert (found["n"], found["n_clusters"], found["method"], found["safe"]) == (40, 10, "guarded-cr1", "one look")
    assert (found["lower"], found["upper"]) == pytest.approx((lower, upper))
    assert found["new_data"]["lower"] == found["lower"]
    assert (head["cluster_by"], head["n_unclustered"]) == (DOC, 0)
    assert ok(alice.get(f"/v1/experiments/{made['id']}"))["experiment"]["plan"]["cluster_by"] == DOC


def test_what_covers_this_set_stays_as_it_is(alice: Caller) -> None:
    plain = clustered(alice, DOCUMENTS, cluster_by=None)
    made = clustered(alice, DOCUMENTS)
    for one in (plain, made):
        score(alice, one, 0, of_documents, units=2)
    over, apart = shown(alice, made), shown(alice, plain)

    assert "n_clusters" not in apart
    assert (over["this_set"], over["decision_interval"]) == (apart["this_set"], apart["decision_interval"])
    assert over["upper"] - over["lower"] > 1.3 * (
        apart["new_data"]["one_look"]["upper"] - apart["new_data"]["one_look"]["lower"]
    )


def test_examples_without_the_value_are_clusters_of_their_own(alice: Caller) -> None:
    made = clustered(alice, [*DOCUMENTS[:36], None, ["d0"], None, {"x": 1}])
    score(alice, made, 0, of_documents)

    assert (shown(alice, made)["n_clusters"], live(alice, made["id"])["experiment"]["n_unclustered"]) == (13, 4)


@pytest.mark.parametrize(
    ("documents", "value", "width", "warnings"),
    [
        (["same"] * 12, of_documents, 1.0, ["n<30", "one_cluster"]),
        (["a", "a", "b"], lambda i: 0.5, 0.9, ["n<30"]),
    ],
)
def test_where_clusters_tell_nothing_the_interval_is_wide(
    alice: Caller, documents: list[str], value: Any, width: float, warnings: list[str]
) -> None:
    made = clustered(alice, documents)
    score(alice, made, 0, value)
    found = shown(alice, made)

    assert found["upper"] - found["lower"] >= width
    assert (found["method"], found["warnings"]) == ("guarded-cr1", warnings)


def test_three_rows_have_a_wide_one(alice: Caller) -> None:
    made = clustered(alice, ["a", "b", "c"])
    score(alice, made, 0, lambda i: [0.2, 0.5, 0.9][i])
    found = shown(alice, made)

    assert (found["lower"], found["upper"]) == (0.0, 1.0)
    assert "n<30" in found["warnings"]


def test_ratios_and_quantiles_have_none(alice: Caller) -> None:
    ratio = {"name": "ratio", "source": "/output/top", "denominator": "/output/all", "type": "ratio"}
    made = clustered(alice, DOCUMENTS[:8], metrics=[MINE, ratio, {"name": "latency", "source": "latency_ms"}])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    rows = [
        {"pos": e["pos"], "output": {"top": 1, "all": 2 + i}, "scores": {"mine": 1}, "latency_ms": 5 + i}
        for i, e in enumerate(unit["examples"])
    ]
    runner.post(unit, rows)
    found, latency = shown(alice, made, metric="ratio"), shown(alice, made, metric="latency")

    assert (found["lower"], "not_over_clusters" in found["warnings"]) == (None, True)
    assert latency["method"] == "cr1"
    assert {(one["lower"], one["method"], one["reason"]) for one in latency["quantiles"]} == {
        (None, "none", "not_over_clusters")
    }


def test_differences_are_over_clusters_and_have_a_verdict_at_the_end(alice: Caller) -> None:
    made = clustered(alice, DOCUMENTS)
    # Ten clusters show little: the difference is large.
    first = [0.9 - 0.04 * ((i // 4) % 3) for i in range(40)]
    second = [0.1 * ((i // 4) % 3) / 2 + 0.01 * (i % 4) for i in range(40)]
    score(alice, made, 0, lambda i: first[i])
    score(alice, made, 1, lambda i: second[i])
    ids = [config["id"] for config in made["configs"]]
    whole = ok(alice.get(f"/v1/compare?a={ids[0]}&b={ids[1]}"))
    versus = next(one for one in live(alice, made["id"])["configs"] if one["versus_leader"])["versus_leader"]
    differences = np.array(first) - second
    expected = guarded_over_clusters(differences, DOCUMENTS, 0.955, (-1.0, 1.0))

    found = whole["comparison"]
    assert (whole["cluster_by"], found["n"], found["n_clusters"], found["method"]) == (DOC, 40, 10, "guarded-cr1")
    assert (found["lower"], found["upper"]) == pytest.approx(expected)
    assert (found["joint_level"], found["rests_on"]) == (pytest.approx(0.955), None)
    assert (found["word"], found["label"], found["reason"]) == ("better", "planned_end", None)
    assert sorted((versus["lower"], versus["upper"])) == pytest.approx(
        sorted(
            (-found["lower"], -found["upper"]) if versus["config_id"] == ids[0] else (found["lower"], found["upper"])
        )
    )
    assert versus["n_clusters"] == 10


def test_clustered_differences_have_no_verdict_before_the_end(alice: Caller) -> None:
    made = clustered(alice, DOCUMENTS)
    for i, level in enumerate((0.9, 0.1)):
        score(alice, made, i, lambda e, i=i, level=level: level + 0.01 * i * (e % 5), units=3)
    ids = [config["id"] for config in made["configs"]]
    found = ok(alice.get(f"/v1/compare?a={ids[0]}&b={ids[1]}"))["comparison"]
    versus = next(one for one in live(alice, made["id"])["configs"] if one["versus_leader"])["versus_leader"]

    for answer in (found, versus):
        assert (answer["word"], answer["reason"]) == ("inconclusive", "not_over_clusters")
        assert (answer["label"], answer["n"]) == ("monitoring", 30)
        assert answer["lower"] <= 0 <= answer["upper"]


def test_a_comparison_may_name_clusters_that_no_plan_does(alice: Caller) -> None:
    made = clustered(alice, DOCUMENTS, cluster_by=None)
    for i, value in enumerate((of_documents, lambda i: 0.3)):
        score(alice, made, i, value)
    ids = [config["id"] for config in made["configs"]]
    asked = f"/v1/compare?a={ids[0]}&b={ids[1]}"
    over, apart = ok(alice.get(f"{asked}&cluster_by={DOC}")), ok(alice.get(asked))

    assert (over["cluster_by"], over["comparison"]["n_clusters"], apart["cluster_by"]) == (DOC, 10, None)
    assert over["comparison"]["lower"] < apart["comparison"]["lower"]
    assert ok(alice.get(f"{asked}&cluster_by=input.x"), 422)["errors"][0]["pointer"] == "/cluster_by"


def test_a_leader_is_settled_when_all_is_in(alice: Caller) -> None:
    made = clustered(alice, DOCUMENTS)
    score(alice, made, 0, lambda i: 0.9 - 0.01 * (i % 5))
    score(alice, made, 1, lambda i: 0.2 + 0.01 * (i % 7), units=2)
    before = live(alice, made["id"])
    score(alice, made, 1, lambda i: 0.2 + 0.01 * (i % 7))
    after = live(alice, made["id"])

    assert (before["leader_settled"], after["leader_settled"]) == (False, True)


def test_a_plan_is_refused_for_what_cannot_mind_clusters(alice: Caller) -> None:
    assert refused(alice, DOCUMENTS, policy="race_safe")[0] == "/plan/cluster_by"
    assert refused(alice, DOCUMENTS, strategy="t")[0] == "/plan/strategy"
    assert refused(alice, DOCUMENTS, metrics=[MINE | {"strategy": "t"}])[0] == "/plan/metrics/0/strategy"
    assert refused(alice, [None, None])[0] == "/plan/cluster_by"
    assert refused(alice, DOCUMENTS, cluster_by="input.text")[0] == "/plan/cluster_by"


def test_looks_and_the_recount_agree(alice: Caller) -> None:
    made = clustered(alice, DOCUMENTS)
    score(alice, made, 0, of_documents)
    points = ok(alice.get(f"/v1/experiments/{made['id']}/looks"))["looks"][made["configs"][0]["id"]]

    assert {(one["lower"], one["upper"]) for one in points} == {(None, None)}
    assert points[-1]["this_set"]["lower"] is not None
    assert ok(alice.get(f"/v1/experiments/{made['id']}/recount"))["equal"] is True


def test_aggregates_and_the_front_follow_the_plan(alice: Caller) -> None:
    made = clustered(alice, DOCUMENTS, metrics=[MINE, {"name": "latency", "source": "latency_ms"}])
    for i, value in enumerate((of_documents, lambda i: 0.3)):
        runner = Runner(alice, made, i)
        while unit := runner.lease()["unit"]:
            rows = [
                {"pos": e["pos"], "output": "x", "scores": {"mine": value(int(e["id"]))}, "latency_ms": 9 - i}
                for e in unit["examples"]
            ]
            runner.post(unit, rows)
    path = f"/v1/experiments/{made['id']}"
    (row, _) = ok(alice.get(f"{path}/aggregates?by=metadata.none"))["rows"]
    front = ok(alice.get(f"{path}/pareto?metrics=mine,latency"))
    (beaten,) = [config for config in front["configs"] if config["dominated_by"]] or [None]

    assert (row["method"], row["n_clusters"]) == ("guarded-cr1", 10)
    assert beaten is None or beaten["dominated_by"][0]["better_by"]["mine"]["method"] == "guarded-cr1"


def test_a_later_metric_asks_for_no_strategy(alice: Caller) -> None:
    made = clustered(alice, DOCUMENTS)
    body = {"metrics": [{"name": "late", "source": "latency_ms", "strategy": "t"}]}

    wrong = ok(alice.post(f"/v1/experiments/{made['id']}/metrics", body), 422)["errors"][0]
    assert wrong["pointer"] == "/metrics/0/strategy"
