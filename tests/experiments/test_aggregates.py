"""Aggregates: slices of the examples, values of a knob, several experiments; all intervals of a table hold together."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from evalsvc.stats.formulas.intervals import clopper_pearson
from tests.conftest import Caller
from tests.experiments.conftest import live, make_dataset, make_experiment, ok
from tests.experiments.pushing import PUSH, Runner, answering
from tests.stats.reference import guarded_over_clusters

EXACT = {"name": "accuracy", "evaluator": "exact-match"}
MINE = {"name": "mine", "source": "client", "value_range": [0, 1]}


def examples(topics: list[Any]) -> list[dict[str, Any]]:
    return [
        {"id": str(i), "input": i, "expected": str(i), "metadata": {} if topic is None else {"topic": topic}}
        for i, topic in enumerate(topics)
    ]


def finished(caller: Caller, topics: list[Any], answer: Any = None, **plan: Any) -> Any:
    made = make_experiment(caller, make_dataset(caller, examples(topics)), [PUSH], **plan)
    Runner(caller, made).run(answer or (lambda e: e["expected"]))
    return made


def aggregates(caller: Caller, made: Any, query: str, status: int = 200) -> Any:
    return ok(caller.get(f"/v1/experiments/{made['id']}/aggregates?{query}"), status)


def by_value(table: Any, name: str = "metadata.topic") -> dict[Any, Any]:
    return {(row["values"][name], row["is_rest"]): row for row in table["rows"]}


def wrong_about(topic: str) -> Any:
    return lambda e: "wrong" if e["metadata"].get("topic") == topic else e["expected"]


def test_each_slice_has_its_interval_and_all_hold_together(alice: Caller) -> None:
    made = finished(alice, ["law"] * 40 + ["art"] * 20, lambda e: "wrong" if int(e["expected"]) < 10 else e["expected"])
    table = aggregates(alice, made, "by=metadata.topic&metric=accuracy")
    law, art = table["rows"]

    assert (table["n_comparisons"], table["level"], table["joint_level"]) == (2, 0.95, pytest.approx(0.975))
    assert (table["covers"], table["safe"], table["unit"]) == ("new data", "one look", "example")
    assert law["values"] == {"metadata.topic": "law"}
    assert (law["n"], law["n_examples"], law["value"]) == (40, 40, 0.75)
    assert (law["lower"], law["upper"]) == pytest.approx(clopper_pearson(30, 40, 0.975))
    assert (art["value"], art["upper"], art["warnings"]) == (1.0, 1.0, ["n<30", "degenerate"])


def test_the_slices_add_up_to_what_the_live_view_has(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, examples(["a", "b", None, 1, True] * 8)), [PUSH], metrics=[MINE])
    runner = Runner(alice, made)
    for _ in range(3):
        unit = runner.lease()["unit"]
        rows = [{"pos": e["pos"], "output": "x", "scores": {"mine": e["pos"] / 40}} for e in unit["examples"]]
        rows[0] = {"pos": rows[0]["pos"], "error": {"type": "bug"}}
        runner.post(unit, rows)
    table = aggregates(alice, made, "by=metadata.topic")
    (config,) = live(alice, made["id"])["configs"]
    whole = config["metrics"]["mine"]

    assert sum(row["n"] for row in table["rows"]) == whole["n"] == 27
    assert sum(row["n_error"] for row in table["rows"]) == whole["n_error"] == 3
    assert sum(row["n_pending"] for row in table["rows"]) == whole["n_pending"] == 10
    assert sum((row["n"] + row["n_error"]) * row["value"] for row in table["rows"]) == pytest.approx(
        30 * whole["value"]
    )
    assert {method for row in table["rows"] for method in [row["method"]]} == {"guarded-t"}


def test_examples_without_the_key_are_a_slice_of_their_own_and_the_last(alice: Caller) -> None:
    table = aggregates(alice, finished(alice, [None, "a", None, ["x"], {"y": 1}, None]), "by=metadata.topic")

    assert [(row["values"]["metadata.topic"], row["n"]) for row in table["rows"]] == [("a", 1), (None, 5)]


def test_many_values_are_pooled_beyond_the_largest(alice: Caller) -> None:
    topics = ["big"] * 5 + ["middle"] * 3 + ["one", "two", "three"] + [None] * 2
    table = aggregates(alice, finished(alice, topics, wrong_about("two")), "by=metadata.topic&max_slices=2")
    found = by_value(table)

    assert [key for key in found] == [("big", False), ("middle", False), (None, True), (None, False)]
    assert (found[None, True]["n"], found[None, True]["value"]) == (3, pytest.approx(2 / 3))
    assert (table["n_labels"], table["n_comparisons"]) == (5, 4)


def test_a_path_leads_into_nested_metadata(alice: Caller) -> None:
    rows = [{"id": str(i), "input": i, "expected": "x", "metadata": {"a.b": {"c": i % 2}}} for i in range(4)]
    made = make_experiment(alice, make_dataset(alice, rows), [PUSH])
    Runner(alice, made).run()

    assert [row["values"] for row in aggregates(alice, made, "by=/metadata/a.b/c")["rows"]] == [
        {"/metadata/a.b/c": "0"},
        {"/metadata/a.b/c": "1"},
    ]


def knobbed(caller: Caller, settings: list[Any], n: int = 40) -> Any:
    configs = [{"name": f"c{i}", "kind": "push", "parameters": {"retriever": {"k": k}}} for i, k in enumerate(settings)]
    made = make_experiment(caller, make_dataset(caller, examples(["a", "b"] * (n // 2))), configs, metrics=[MINE])
    return made


def score(caller: Caller, made: Any, config: int, value: Any) -> None:
    runner = Runner(caller, made, config)
    while unit := runner.lease()["unit"]:
        rows = [{"pos": e["pos"], "output": "x", "scores": {"mine": value(e["pos"])}} for e in unit["examples"]]
        runner.post(unit, rows)


def test_a_knob_groups_configs_and_the_example_stays_the_unit(alice: Caller) -> None:
    made = knobbed(alice, [5, 10, 5.0])
    for i in range(3):
        score(alice, made, i, lambda pos, i=i: (pos % 4) / 4 + (0.1 if i == 2 else 0))
    table = aggregates(alice, made, "by=parameters.retriever.k")
    five, ten = table["rows"]

    assert [row["values"]["parameters.retriever.k"] for row in table["rows"]] == [5, 10]
    assert (five["n_configs"], five["n"], five["n_examples"]) == (2, 40, 40)
    assert five["value"] == pytest.approx(ten["value"] + 0.05)
    # Two configs with the same scores say no more of new examples than one.
    assert five["upper"] - five["lower"] == pytest.approx(ten["upper"] - ten["lower"], rel=0.05)


def test_a_group_is_counted_as_far_as_all_of_it_has_come(alice: Caller) -> None:
    made = knobbed(alice, [1, 1, 2])
    score(alice, made, 0, lambda pos: 1.0)
    runner = Runner(alice, made, 1)
    unit = runner.lease()["unit"]
    rows: list[dict[str, Any]] = [{"pos": e["pos"], "output": "x", "scores": {"mine": 0.5}} for e in unit["examples"]]
    runner.post(unit, [{"pos": rows[0]["pos"], "error": {"type": "connection"}}, *rows[1:]])
    one, two = aggregates(alice, made, "by=parameters.retriever.k")["rows"]

    assert (one["n"], one["n_partial"], one["n_pending"]) == (10, 1, 30)
    assert one["value"] == pytest.approx((1.0 + 9 * 0.75) / 10)
    assert one["warnings"][-2:] == ["uneven", "partly_scored"]
    assert (two["n"], two["value"], two["method"]) == (0, None, "none")


def test_a_knob_and_a_topic_together(alice: Caller) -> None:
    made = knobbed(alice, [1, 2], n=8)
    for i in range(2):
        score(alice, made, i, lambda pos, i=i: float(i))
    table = aggregates(alice, made, "by=parameters.retriever.k,metadata.topic")

    assert [(*row["values"].values(), row["n"], row["value"]) for row in table["rows"]] == [
        (1, "a", 4, 0.0),
        (1, "b", 4, 0.0),
        (2, "a", 4, 1.0),
        (2, "b", 4, 1.0),
    ]


def test_the_csv_has_the_same_rows_and_no_formula(alice: Caller) -> None:
    made = finished(alice, ["=cmd|' /C calc'!A0"] * 3)
    answer = alice.get(f"/v1/experiments/{made['id']}/aggregates?by=metadata.topic&format=csv")
    (row,) = csv.DictReader(io.StringIO(answer.content.decode()))

    assert answer["Content-Type"].startswith("text/csv")
    assert row["metadata.topic"].startswith("'=cmd")
    assert (row["n"], row["value"]) == ("3", "1.0")


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("by=topic", "/by"),
        ("by=metadata", "/by"),
        ("by=metadata.a,metadata.b", "/by"),
        ("by=metadata.topic&metric=no", "/metric"),
        ("by=metadata.topic&config=no", "/config"),
        ("by=metadata.topic&max_slices=0", "/max_slices"),
        ("", "/by"),
    ],
)
def test_it_says_what_is_wrong(alice: Caller, query: str, pointer: str) -> None:
    made = make_experiment(alice, make_dataset(alice, examples(["a"])), [PUSH])
    assert aggregates(alice, made, query, 422)["errors"][0]["pointer"] == pointer


def test_readers_may_ask_and_strangers_find_nothing(alice: Caller, bob: Caller, charlie: Caller) -> None:
    made = finished(alice, ["a"] * 3)

    assert aggregates(bob, made, "by=metadata.topic")["rows"][0]["n"] == 3
    aggregates(charlie, made, "by=metadata.topic", 404)
    body = {"experiment_ids": [made["id"]]}
    assert ok(bob.post("/v1/aggregates", body))["rows"][0]["n"] == 3
    assert ok(charlie.post("/v1/aggregates", body), 422)["errors"][0]["pointer"] == "/experiment_ids/0"


def together(caller: Caller, *runs: Any, status: int = 200, **body: Any) -> Any:
    return ok(caller.post("/v1/aggregates", {"experiment_ids": [run["id"] for run in runs], **body}), status)


def test_experiments_stand_side_by_side(alice: Caller) -> None:
    one = finished(alice, ["a"] * 6 + ["b"] * 4)
    other = finished(alice, ["a"] * 3 + ["c"] * 2, wrong_about("a"))
    table = together(alice, one, other, by=["metadata.topic"])

    assert [experiment["id"] for experiment in table["experiments"]] == [one["id"], other["id"]]
    assert (table["pairing"], table["n_comparisons"]) == ("side by side, not paired", 4)
    found = [(row["experiment_id"], row["values"]["metadata.topic"], row["n"], row["value"]) for row in table["rows"]]
    assert found == [
        (one["id"], "a", 6, 1.0),
        (one["id"], "b", 4, 1.0),
        (other["id"], "a", 3, 0.0),
        (other["id"], "c", 2, 1.0),
    ]


def test_paired_experiments_differ_example_by_example(alice: Caller) -> None:
    dataset = make_dataset(alice, examples(["a", "b"] * 20))
    runs = [make_experiment(alice, dataset, [PUSH], seed=seed) for seed in (1, 2)]
    Runner(alice, runs[0]).run(wrong_about("b"))
    Runner(alice, runs[1]).run()
    table = together(alice, *runs, by=["metadata.topic"], paired=True)
    differences = {row["values"]["metadata.topic"]: row["difference"] for row in table["rows"][2:]}

    assert (table["pairing"], table["n_comparisons"]) == ("paired by example", 6)
    assert [row["difference"] for row in table["rows"][:2]] == [None, None]
    a, b = differences["a"], differences["b"]
    assert (a["value"], a["n"], a["n_better"], b["value"], b["n_better"]) == (0.0, 20, 0, 1.0, 20)
    assert a["lower"] < 0 < a["upper"]
    assert 0 < b["lower"] < 1


def test_other_examples_are_not_paired(alice: Caller) -> None:
    runs = [finished(alice, ["a"] * 3), finished(alice, ["a"] * 3)]
    assert together(alice, *runs, paired=True, status=422)["errors"][0]["pointer"] == "/experiment_ids/1"


def test_what_is_measured_otherwise_does_not_stand_beside(alice: Caller) -> None:
    one = finished(alice, ["a"] * 3)
    other = finished(alice, ["a"] * 3, metrics=[MINE | {"name": "accuracy", "value_range": [1, 5]}])
    assert together(alice, one, other, status=422)["errors"][0]["pointer"] == "/metric"


def test_the_answer_is_of_what_was_finished_only(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, examples(["a"] * 30)), [PUSH])
    runner = Runner(alice, made)
    runner.lease()
    unit = runner.lease()["unit"]
    runner.post(unit, [{"pos": e["pos"], "output": answering(set())(e)} for e in unit["examples"]])

    # The first ten are still out: what lies behind them is provisional, as in the live view.
    assert aggregates(alice, made, "by=metadata.topic")["rows"][0]["n"] == 0


def test_examples_of_one_document_are_one_draw(alice: Caller) -> None:
    rows = [
        {"id": str(i), "input": i, "expected": "x", "metadata": {"doc": i // 4} if i < 20 else {}} for i in range(24)
    ]
    made = make_experiment(alice, make_dataset(alice, rows), [PUSH])
    Runner(alice, made).run(lambda e: "x" if int(e["id"]) // 4 in (0, 1) else "wrong")
    apart, together = (
        ok(alice.get(f"/v1/experiments/{made['id']}/aggregates?by=metadata.none{more}"))["rows"][0]
        for more in ("", "&cluster_by=metadata.doc")
    )
    scores = [float(i < 8) for i in range(24)]
    expected = guarded_over_clusters(scores, [i // 4 if i < 20 else i for i in range(24)], 0.95, (0.0, 1.0))

    assert (together["n"], together["n_clusters"], together["value"]) == (24, 9, apart["value"])
    assert (together["method"], together["warnings"], apart["n_clusters"]) == ("guarded-cr1", ["n<30"], None)
    assert (together["lower"], together["upper"]) == pytest.approx(expected)
    wrong = aggregates(alice, made, "by=metadata.none&cluster_by=parameters.k", 422)
    assert wrong["errors"][0]["pointer"] == "/cluster_by"
