"""Metrics of evaluators that judge each turn of a conversation: one value, and three shares over turns."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.client.results.metrics import Metric
from tests.conftest import Caller
from tests.experiments.conftest import by_name, live
from tests.experiments.pushing import PUSH, Runner
from tests.factories import make_dataset, make_experiment, make_profile

BUG = {"error": {"type": "bug", "message": "crashed"}}
OUTCOMES = ["yyyy", "yyyn", "yyyy", "nnnn", "yyyyyyyy", "yn"]


def converse(outcomes: str) -> dict[str, Any]:
    """A conversation with a turn for each letter: y answers yes, n no, c calls a tool at the end."""
    messages: list[dict[str, Any]] = []
    for number, letter in enumerate(outcomes):
        messages.append({"role": "user", "content": f"{number}?"})
        if letter == "c":
            messages.append({"role": "assistant", "calls": [{"id": f"c{number}", "name": "f", "args": {}}]})
        else:
            messages.append({"role": "assistant", "content": {"y": "yes", "n": "no"}[letter]})
    return {"messages": messages}


def finished(
    caller: Caller, outcomes: list[str], *, source: str = "score", n_answered: int | None = None, **plan: Any
) -> Any:
    rows = [
        {"id": f"t{i}", "input": f"{i}?", "expected": "yes", "metadata": {"group": i % 3}} for i in range(len(outcomes))
    ]
    profile = make_profile(caller, "exact-match", unit="turn")["name"]
    metrics = [{"name": "right", "evaluator": "exact-match", "criteria": profile, "source": source}]
    made = make_experiment(caller, make_dataset(caller, rows), [PUSH], metrics=metrics, **plan)
    runner = Runner(caller, made)
    n_left = len(outcomes) if n_answered is None else n_answered
    while n_left > 0 and (unit := runner.lease()["unit"]):
        n_left -= len(unit["examples"])
        answers = [outcomes[int(example["id"][1:])] for example in unit["examples"]]
        outputs = [
            {"pos": example["pos"], **(BUG if answer == "b" else {"output": converse(answer)})}
            for example, answer in zip(unit["examples"], answers, strict=True)
        ]
        runner.post(unit, outputs)
    return by_name(live(caller, made["id"]))["mine"]["metrics"]["right"]


@pytest.mark.parametrize("source", ["score", "pass"])
def test_the_value_is_the_mean_over_conversations(alice: Caller, source: str) -> None:
    found = finished(alice, OUTCOMES, source=source)
    turns = found["turns"]
    assert found["value"] == pytest.approx((1 + 0.75 + 1 + 0 + 1 + 0.5) / 6)
    assert turns["per_conversation"]["value"] == found["value"]
    assert turns["per_turn"]["value"] == pytest.approx(20 / 26)
    assert turns["all_turns"]["value"] == 0.5
    assert (turns["n_turns"], turns["n_conversations"]) == (26, 6)
    assert (turns["per_turn"]["method"], turns["all_turns"]["method"]) == ("guarded-cr1", "clopper-pearson")
    for share in ("per_turn", "per_conversation", "all_turns"):
        assert 0 <= turns[share]["lower"] <= turns[share]["value"] <= turns[share]["upper"] <= 1
    text = Metric.read("right", found).turns_text
    assert text.startswith("per_turn 0.77 [")
    assert text.endswith("; 26 turns of 6 conversations")


@pytest.mark.parametrize("rest", [[], ["yn"] * 14], ids=["all scored", "half scored"])
def test_the_mean_over_conversations_has_one_interval(alice: Caller, rest: list[str]) -> None:
    found = finished(alice, [*OUTCOMES, *rest], n_answered=len(OUTCOMES), num_shards=1 + bool(rest))
    share, new_data = found["turns"]["per_conversation"], found["new_data"]
    names = ("lower", "upper", "method")
    assert [share[name] for name in names] == [new_data[name] for name in names]


def test_turns_that_are_not_judged_do_not_count(alice: Caller) -> None:
    turns = finished(alice, ["yyc", "ync"])["turns"]
    assert (turns["n_turns"], turns["per_turn"]["value"]) == (4, 0.75)


def test_a_failed_output_is_one_turn_with_the_worst_value(alice: Caller) -> None:
    found = finished(alice, [*OUTCOMES, "b"])
    assert found["value"] == pytest.approx(4.25 / 7)
    assert found["turns"]["per_conversation"]["value"] == found["value"]
    assert (found["turns"]["n_turns"], found["turns"]["n_conversations"]) == (27, 7)
    assert found["turns"]["all_turns"]["value"] == pytest.approx(3 / 7)


def test_clusters_of_the_plan_are_the_clusters_of_turns(alice: Caller) -> None:
    found = finished(alice, OUTCOMES * 5, cluster_by="/metadata/group")
    assert {found["turns"][name]["method"] for name in ("per_turn", "per_conversation", "all_turns")} == {"guarded-cr1"}
    ends = ("lower", "upper")
    assert [found["turns"]["per_conversation"][end] for end in ends] == pytest.approx([found[end] for end in ends])


def test_other_metrics_have_no_turns(alice: Caller) -> None:
    rows = [{"id": "a", "input": "?", "expected": "yes"}]
    metrics = [{"name": "right", "evaluator": "exact-match", "criteria": "patronus:exact-match"}]
    made = make_experiment(alice, make_dataset(alice, rows), [PUSH], metrics=metrics)
    Runner(alice, made).run()
    assert "turns" not in by_name(live(alice, made["id"]))["mine"]["metrics"]["right"]
