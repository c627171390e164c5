"""The confusion matrix of a config: what is a label, what is counted apart, and whose it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evalsvc.client import EvaluationResult, Row
from tests.conftest import Caller
from tests.experiments.conftest import make_dataset, make_experiment, ok
from tests.experiments.pushing import Runner

SPORTS = ["chess", "golf", "judo"]


def run(caller: Caller, examples: list[dict[str, Any]], answer: Callable[[Any], Any], n_configs: int = 1) -> Any:
    configs = [{"name": name, "kind": "push"} for name in ("first", "second")[:n_configs]]
    metrics = [{"name": "m", "source": "latency_ms"}]
    made = make_experiment(caller, make_dataset(caller, examples), configs, metrics=metrics)
    Runner(caller, made).run(answer, latency_ms=1.0)
    return made


def sports(n: int = 30) -> list[dict[str, Any]]:
    return [{"id": str(i), "input": i, "expected": {"sport": SPORTS[i % 3]}} for i in range(n)]


def matrix(caller: Caller, made: Any, query: str = "actual=/expected/sport") -> Any:
    return ok(caller.get(f"/v1/experiments/{made['id']}/confusion?{query}"))


def test_it_counts_and_says_how_sure_each_share_is(alice: Caller) -> None:
    def answer(example: Any) -> str:
        i = example["input"]
        return "golf" if i % 6 == 0 else SPORTS[i % 3]

    found = matrix(alice, run(alice, sports(), answer))

    assert found["labels"] == SPORTS
    assert found["matrix"] == [[5, 5, 0], [0, 10, 0], [0, 0, 10]]
    assert (found["n"], found["N"], found["n_error"], found["n_pending"], found["n_unreadable"]) == (30, 30, 0, 0, 0)
    chess, golf, judo = found["classes"]
    assert (chess["recall"]["value"], golf["precision"]["value"]) == (0.5, pytest.approx(10 / 15))
    assert (judo["f1"]["value"], judo["f1"]["method"]) == (1.0, "clopper-pearson")
    assert 0 < judo["f1"]["lower"] < 1
    assert chess["recall"]["n"] == 10
    assert found["accuracy"]["value"] == pytest.approx(25 / 30)
    macro = found["macro_f1"]
    assert macro["value"] == pytest.approx((2 / 3 + 20 / 25 + 1) / 3)
    assert macro["lower"] < macro["value"] < macro["upper"]
    assert (macro["method"], found["covers"], found["seed"]) == ("bootstrap-bca", "new data", 0)


def test_numbers_and_truth_are_labels_and_the_rest_is_counted_apart(alice: Caller) -> None:
    golds = [1, 1.0, True, " yes ", "yes", None, ["yes"], 2]
    said = [1.0, 1, True, "yes", "YES", "yes", "yes", {"no": "label"}]
    examples = [{"id": str(i), "input": i, "metadata": {"gold": gold}} for i, gold in enumerate(golds)]
    made = run(alice, examples, lambda example: said[example["input"]])
    found = matrix(alice, made, "actual=/metadata/gold")

    assert found["labels"] == ["1", "true", "yes", "YES"]
    assert found["matrix"] == [[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]]
    assert (found["n"], found["n_unreadable"], found["unreadable"]) == (5, 3, {"predicted": 1, "actual": 2})
    folded = matrix(alice, made, "actual=/metadata/gold&ignore_case=true")
    assert folded["labels"] == ["1", "true", "yes"]


def test_white_space_around_a_label_is_not_part_of_it(alice: Caller) -> None:
    blanks = ["\n", "\r\n", "\t", "\u00a0", "\u202f", "\u3000", " \n\n "]
    examples = [
        {"id": str(i), "input": i, "expected": f"{blank}pos", "metadata": {"part": f"{blank}x{blank}"}}
        for i, blank in enumerate(blanks)
    ]
    made = run(alice, examples, lambda example: f"pos{blanks[example['input']]}")

    found = matrix(alice, made, "actual=/expected")
    assert (found["labels"], found["accuracy"]["value"]) == (["pos"], 1.0)
    slices = ok(alice.get(f"/v1/experiments/{made['id']}/aggregates?metric=m&by=metadata.part"))
    assert [row["values"] for row in slices["rows"]] == [{"metadata.part": "x"}]


def test_the_client_reads_the_same_labels(alice: Caller) -> None:
    said = ["pos\n", "\x1fpos", "\u2028pos", "x" * 300, 1e-7, 12345678.5, 1e21, 3.0, -0.0, True, " \n", "ß "]
    examples = [{"id": str(i), "input": i, "expected": value} for i, value in enumerate(said)]
    made = run(alice, examples, lambda example: said[example["input"]])
    rows = [Row(str(i), i, i, value, value, index=i) for i, value in enumerate(said)]

    here = EvaluationResult("r", rows=rows).confusion()
    assert here.labels == matrix(alice, made, "actual=/expected")["labels"]


def test_failures_and_what_is_pending_add_up(alice: Caller) -> None:
    configs = [{"name": "first", "kind": "push"}]
    made = make_experiment(
        alice, make_dataset(alice, sports()), configs, metrics=[{"name": "m", "source": "latency_ms"}]
    )
    runner = Runner(alice, made)
    unit = runner.lease(n=10)["unit"]
    outputs = [
        {"pos": one["pos"], "error": {"type": "bug", "message": "no"}}
        if i < 4
        else {"pos": one["pos"], "output": "golf"}
        for i, one in enumerate(unit["examples"])
    ]
    runner.post(unit, outputs)
    found = matrix(alice, made)

    assert (found["n"], found["n_error"], found["n_pending"], found["n_unreadable"], found["N"]) == (6, 4, 20, 0, 30)


def test_labels_that_nobody_asked_for_are_pooled(alice: Caller) -> None:
    found = matrix(alice, run(alice, sports(150), lambda example: f"word {example['input']}"))

    assert (len(found["labels"]), found["labels"][-1], found["n_other_labels"]) == (101, None, 53)
    assert sum(map(sum, found["matrix"])) == found["n"] == 150
    assert found["accuracy"]["value"] == 0.0


def test_a_config_is_named_where_there_are_several(alice: Caller) -> None:
    made = run(alice, sports(3), lambda example: "golf", n_configs=2)

    assert refused(alice, made, "actual=/expected/sport") == "/config"
    assert refused(alice, made, "actual=/expected/sport&config=third") == "/config"
    by_name, by_id = (
        matrix(alice, made, f"actual=/expected/sport&config={config}") for config in ("first", made["configs"][0]["id"])
    )
    assert by_name == by_id
    assert by_name["n"] == 3
    empty = matrix(alice, made, "actual=/expected/sport&config=second")
    assert (empty["n"], empty["accuracy"], empty["classes"], empty["n_pending"]) == (0, None, [], 3)


def refused(caller: Caller, made: Any, query: str) -> str:
    answer = caller.get(f"/v1/experiments/{made['id']}/confusion?{query}")
    assert answer.status_code == 422, answer.content
    pointer: str = answer.json()["errors"][0]["pointer"]
    return pointer


def test_it_points_to_what_is_wrong(alice: Caller) -> None:
    made = run(alice, [{"id": str(i), "input": i} for i in range(101)], lambda example: "x")

    assert refused(alice, made, "actual=/output") == "/actual"
    assert refused(alice, made, "actual=expected") == "/actual"
    assert refused(alice, made, "predicted=output") == "/predicted"
    assert refused(alice, made, "level=2") == "/level"
    # More than a hundred different values are not classes.
    assert refused(alice, made, "actual=/input") == "/actual"


def test_a_stranger_sees_nothing(alice: Caller, charlie: Caller) -> None:
    made = run(alice, sports(3), lambda example: "golf")
    theirs = run(charlie, sports(3), lambda example: "golf")

    assert charlie.get(f"/v1/experiments/{made['id']}/confusion?actual=/expected/sport").status_code == 404
    path = f"/v1/experiments/{theirs['id']}/confusion?actual=/expected/sport&config={made['configs'][0]['id']}"
    assert charlie.get(path).status_code == 422
