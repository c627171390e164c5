"""Single results: what they answer, which of them, in what order, and where a history's points come from."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import EXACT, live, make_dataset, make_experiment, ok, recounted
from tests.experiments.pushing import Runner, results

PUSH = [{"name": "mine", "kind": "push"}]
MINE = {"name": "mine", "source": "client", "value_range": [0, 1]}
EXAMPLES = [
    {"id": f"e{i}", "input": {"question": f"q{i}"}, "expected": f"a{i}", "contexts": [f"c{i}"], "metadata": {"i": i}}
    for i in range(8)
]


def filled(caller: Caller) -> Any:
    """Eight outputs: two failed, one without a number of the caller's, and scores that are equal by pairs."""
    made = make_experiment(caller, make_dataset(caller, EXAMPLES), PUSH, metrics=[EXACT, MINE])
    runner = Runner(caller, made)
    unit = runner.lease()["unit"]
    rows: list[dict[str, Any]] = [
        {"pos": e["pos"], "output": e["expected"], "scores": {"mine": (e["pos"] // 2) / 4}} for e in unit["examples"]
    ]
    rows[5].pop("scores")
    rows[6:] = [{"pos": pos, "error": {"type": "bug", "message": "boom"}} for pos in (6, 7)]
    runner.post(unit, rows)
    return made


def places(rows: Any) -> list[int]:
    return [row["pos"] for row in rows]


def test_a_result_says_what_it_answers(alice: Caller) -> None:
    made = filled(alice)
    row = results(alice, made, "limit=1")[0]
    example = next(one for one in EXAMPLES if one["id"] == row["example_id"])
    assert (row["input"], row["expected"]) == (example["input"], example["expected"])
    assert not {"contexts", "metadata"} & row.keys()
    row = results(alice, made, "limit=1&include=metadata,contexts")[0]
    assert (row["contexts"], row["metadata"]) == (example["contexts"], example["metadata"])
    assert results(alice, made, "include=secrets", 422)["errors"][0]["pointer"] == "/include"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=failed", {6, 7}),
        ("status=error", {5}),
        ("status=ok", {0, 1, 2, 3, 4}),
        ("status=pending", set()),
        ("status=ok&metric=accuracy", {0, 1, 2, 3, 4, 5}),
        ("status=error&metric=mine", {5}),
        ("status=not_applicable&metric=accuracy", set()),
        ("status=failed&metric=accuracy", {6, 7}),
    ],
)
def test_it_filters_by_status(alice: Caller, query: str, expected: set[int]) -> None:
    made = filled(alice)
    assert set(places(results(alice, made, query))) == expected
    content = b"".join(alice.get(f"/v1/experiments/{made['id']}/results?format=csv&{query}").streaming_content)
    assert {int(row["pos"]) for row in csv.DictReader(io.StringIO(content.decode()))} == expected


def test_the_statuses_of_a_metric_add_up(alice: Caller) -> None:
    made = filled(alice)
    ok(alice.post(f"/v1/experiments/{made['id']}/metrics", {"metrics": [MINE | {"name": "later"}]}))
    for metric in ("accuracy", "mine", "later"):
        found = [
            place
            for status in ("ok", "error", "failed", "not_applicable", "pending")
            for place in places(results(alice, made, f"metric={metric}&status={status}"))
        ]
        assert sorted(found) == list(range(8))
    assert set(places(results(alice, made, "metric=later&status=pending"))) == {0, 1, 2, 3, 4, 5}
    view = live(alice, made["id"])["configs"][0]["metrics"]["mine"]
    assert (view["n"], view["n_error"], view["n_na"], view["n_pending"], view["N"]) == (5, 3, 0, 0, 8)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@pytest.mark.parametrize("order_by", ["mine", "-mine"])
def test_it_orders_by_the_score_of_a_metric(alice: Caller, order_by: str, limit: int) -> None:
    made = filled(alice)
    rows: list[Any] = []
    cursor = ""
    while True:
        answer = ok(
            alice.get(f"/v1/experiments/{made['id']}/results?order_by={order_by}&limit={limit}&cursor={cursor}")
        )
        rows += answer["results"]
        cursor = answer["next_cursor"]
        if cursor is None:
            break
    values = [row["scores"]["mine"]["value"] for row in rows]
    scored = [value for value in values if value is not None]
    assert values[len(scored) :] == [None] * 3
    assert scored == sorted(scored, reverse=order_by.startswith("-"))
    assert sorted(places(rows)) == list(range(8))
    content = b"".join(
        alice.get(f"/v1/experiments/{made['id']}/results?format=csv&order_by={order_by}").streaming_content
    )
    assert [int(row["pos"]) for row in csv.DictReader(io.StringIO(content.decode()))] == places(rows)


def test_it_says_which_metrics_there_are(alice: Caller) -> None:
    made = filled(alice)
    for query, pointer in (("order_by=-none", "/order_by"), ("status=ok&metric=none", "/metric")):
        assert results(alice, made, query, 422)["errors"][0]["pointer"] == pointer
    cursor = ok(alice.get(f"/v1/experiments/{made['id']}/results?order_by=mine&limit=1"))["next_cursor"]
    assert results(alice, made, f"order_by=-mine&cursor={cursor}", 422)["errors"][0]["pointer"] == "/cursor"


def test_files_have_inputs_and_expectations(alice: Caller) -> None:
    import pyarrow.parquet as pq

    made = filled(alice)
    path = f"/v1/experiments/{made['id']}/results"
    content = b"".join(alice.get(f"{path}?format=csv&include=contexts").streaming_content).decode()
    (row,) = [row for row in csv.DictReader(io.StringIO(content)) if row["example_id"] == "e3"]
    assert (row["input"], row["expected"], row["contexts"]) == ('{"question":"q3"}', "a3", '["c3"]')
    parquet = b"".join(alice.get(f"{path}?format=parquet&order_by=mine").streaming_content)
    table = pq.read_table(io.BytesIO(parquet)).to_pylist()
    (row,) = [row for row in table if row["example_id"] == "e3"]
    assert (row["input"], row["expected"]) == ('{"question":"q3"}', "a3")
    assert "contexts" not in row


def test_a_point_of_a_history_leads_to_the_output(alice: Caller) -> None:
    made = filled(alice)
    sample = {"evaluators": [{"evaluator": "exact-match"}], "output": "x", "label": "x", "capture": "all"}
    ok(alice.post("/v1/evaluate", sample))
    points = ok(alice.get("/v1/history?evaluator=exact-match&include_experiments=all"))["points"]
    (evaluated,) = [point for point in points if point["source"] == "evaluation"]
    assert ok(alice.get(f"/v1/evaluations/{evaluated['evaluation_id']}"))
    assert {evaluated[name] for name in ("experiment_id", "config_id", "output_id", "example_id")} == {None}
    ours = [point for point in points if point["source"] == "experiment"]
    assert len(ours) == 6
    for point in ours:
        assert (point["evaluation_id"], point["experiment_id"]) == (None, made["id"])
        (row,) = results(alice, made, f"output_id={point['output_id']}")
        assert (row["config_id"], row["example_id"]) == (point["config_id"], point["example_id"])
        assert row["scores"]["accuracy"]["value"] == point["score"]
    assert len(results(alice, made, "example_id=e3")) == 1


def test_a_score_keeps_what_the_evaluator_said_beside_it(alice: Caller) -> None:
    metrics = [
        EXACT | {"explain_strategy": "always"},
        {"name": "bleu", "evaluator": "metrics", "criteria": "compute-bleu"},
        {"name": "quiet", "evaluator": "exact-match", "source": "pass", "explain_strategy": "never"},
    ]
    made = make_experiment(alice, make_dataset(alice, EXAMPLES[:2]), PUSH, metrics=metrics)
    Runner(alice, made).run(lambda e: "wrong")
    for row in results(alice, made):
        scores = row["scores"]
        assert scores["accuracy"]["explanation"]
        assert scores["quiet"]["explanation"] is None
        assert scores["bleu"]["extra"]["metric"] == "bleu"
        assert scores["bleu"]["judge_cost"] is None
    plan = ok(alice.get(f"/v1/experiments/{made['id']}"))["experiment"]["plan"]
    assert [metric["explain_strategy"] for metric in plan["metrics"]] == ["always", "on-fail", "never"]
    assert recounted(alice, made["id"]) == []


def test_searches_lead_to_the_scores_of_an_experiment(alice: Caller, charlie: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=3), [{"name": "a", "kind": "push"}])
    Runner(alice, made).run()
    plain = ok(alice.post("/v1/experiments", {"name": "plain"}))["experiment"]["id"]
    alice.evaluate("exact-match", output="x", label="x", experiment_id=plain)

    def searches(caller: Caller, id: str) -> list[Any]:
        nested = [{"or_": [{"field": "experiment_id", "operation": "in", "value": [id]}]}]
        return [
            ok(caller.post("/v1/evaluations/search", {"filters": nested})),
            ok(caller.post("/v1/evaluation-results/search", {"experiment_id": id})),
        ]

    for found in searches(alice, made["id"]):
        (warning,) = found["warnings"]
        path = warning["detail"].split()[-1].rstrip(".")
        assert len(ok(alice.get(path))["results"]) == 3
    for found in [*searches(alice, plain), *searches(charlie, made["id"])]:
        assert "warnings" not in found


def test_a_stranger_finds_no_results(alice: Caller, charlie: Caller) -> None:
    made = filled(alice)
    (row, *_) = results(alice, made)
    results(charlie, made, f"output_id={row['id']}", 404)
    others = make_experiment(charlie, make_dataset(charlie, n=3), PUSH)
    assert results(charlie, others, f"output_id={row['id']}") == []
