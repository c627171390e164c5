"""A metric whose profile has a cascade: undecided outputs are put to a judge, the others are not."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from benchmarks.stub_llm import RunningStub
from tests.conftest import Caller
from tests.experiments.conftest import by_name, live, make_connection, make_dataset, make_experiment, run_units
from tests.experiments.pushing import PUSH, Runner, results
from tests.factories import make_profile

CONTEXT = (
    "The harbour museum shows old fishing boats and nets from the coast, and children may build small ships in its"
    " workshop."
)
OUTPUTS = [
    "The harbour museum shows old fishing boats and nets from the coast.",
    "The harbour museum shows old fishing boats and 40 nets from the coast.",
    "Families like the museum with its boats and the workshop for ships.",
]


def score(caller: Caller, cascade: Any) -> tuple[Any, list[Any]]:
    """Score the outputs by the pass flag; return the metric's figures and the scores of the rows."""
    make_profile(caller, "retrieval-hallucination", "grounded", cascade=cascade)
    metric = {"name": "grounded", "evaluator": "hallucination", "criteria": "grounded", "source": "pass"}
    examples = [{"id": f"e{i}", "input": "What does it show?", "context": [CONTEXT]} for i in range(len(OUTPUTS))]
    made = make_experiment(caller, make_dataset(caller, examples), [PUSH], metrics=[metric])
    Runner(caller, made).run(lambda example: OUTPUTS[int(example["id"][1:])])
    run_units()
    rows = sorted(results(caller, made, "limit=10"), key=lambda row: int(row["pos"]))
    figures = by_name(live(caller, made["id"]))["mine"]["metrics"]["grounded"]
    return figures, [row["scores"]["grounded"] for row in rows]


def ask(caller: Caller, stub: RunningStub, model: str, **connection: Any) -> dict[str, Any]:
    prices = {"price_input_per_million": 1000, "price_output_per_million": 1000}
    name = make_connection(caller, stub.base_url, **prices, **connection)
    config = {"pass_criteria": "The MODEL OUTPUT is polite.", "model": model, "connection": name}
    return {"evaluator": "judge", "config": config}


@pytest.mark.parametrize(("model", "value"), [("stub-judge-pass", 2 / 3), ("stub-judge-0.0", 1 / 3)])
def test_the_judge_decides_undecided_outputs_alone(alice: Caller, stub: RunningStub, model: str, value: float) -> None:
    stub.reset()
    figures, scores = score(alice, ask(alice, stub, model))

    assert (figures["n"], figures["rows"]["n_undecided"], figures["value"]) == (3, 0, pytest.approx(value))
    by_output = {score["passed"] for score in scores if "cascade" in score["extra"]}
    assert by_output == {value > 0.5}
    assert sorted("cascade" in score["extra"] for score in scores) == [False, False, True]
    (asked,) = [score["extra"] for score in scores if "cascade" in score["extra"]]
    assert asked["judge"]["cost"] > 0
    assert stub.calls()["total"] == asked["judge"]["calls"]


def test_an_error_of_the_judge_leaves_the_output_undecided(alice: Caller, stub: RunningStub) -> None:
    figures, scores = score(alice, {"evaluator": "judge", "criteria": "patronus:is-concise"})

    assert figures["rows"]["n_undecided"] == 1
    (undecided,) = [score for score in scores if score["value"] is None]
    assert undecided["error_code"] == "undecided"
    assert undecided["extra"]["cascade"]["error_code"] == "not_configured"


@override_settings(JUDGE_PATIENCE_SECONDS=0)
def test_so_does_a_judge_that_is_away(alice: Caller) -> None:
    name = make_connection(alice, "http://127.0.0.1:9/v1")
    config = {"pass_criteria": "The MODEL OUTPUT is polite.", "connection": name}
    _, scores = score(alice, {"evaluator": "judge", "config": config})

    (undecided,) = [score for score in scores if score["value"] is None]
    assert undecided["error_code"] == "undecided"
    assert undecided["extra"]["cascade"]["why"] == "low_support"
