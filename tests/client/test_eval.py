"""`eval`: anything that runs, and what it said."""

from __future__ import annotations

import asyncio
import sys
from decimal import Decimal
from typing import Any

import pytest

from evalsvc.client import Client, EvaluationResult, InvalidError
from tests.client.capitals import CAPITALS, EXPECTED, INPUTS, knows, run


def test_it_scores_what_a_function_says(client: Client) -> None:
    result = run(client, knows)

    assert [row.output for row in result] == ["Rome", "Paris", "Barcelona", "Tokyo"]
    assert [row.scores["exact-match"].value for row in result] == [1, 1, 0, 1]
    assert (result.state, result.is_final, result.n_examples) == ("completed", True, 4)
    metric = result.metrics["exact-match"]
    assert (metric.value, metric.n, metric.N) == (0.75, 4, 4)
    assert [row.input for row in result] == INPUTS
    assert [row.expected for row in result] == EXPECTED


def test_coroutines_run_at_once(client: Client) -> None:
    running, most = 0, 0

    async def slow(query: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(200):
            await asyncio.sleep(0.01)
            if most == 4:
                break
        running -= 1
        return CAPITALS[query]

    result = run(client, slow, threads=4)

    assert result.metrics["exact-match"].value == 1.0
    assert most == 4


class Pipeline:
    """Runs as Haystack's pipelines do: one dictionary in, a dictionary by component out."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def run(self, data: dict[str, Any], include_outputs_from: set[str] | None = None) -> dict[str, Any]:
        self.seen.append(data)
        return {"reader": {"answer": CAPITALS[data["retriever"]["query"]]}, "retriever": {"documents": ["a"]}}


def test_a_pipeline_is_scored_by_component(client: Client) -> None:
    inputs = [{"retriever": {"query": country}} for country in CAPITALS]
    expected = [{"reader": {"answer": capital}} for capital in EXPECTED]
    sample = {"output": "/output/reader/answer", "gold": "/expected/reader/answer"}
    result = run(client, Pipeline(), inputs, expected, sample=sample)

    assert result.metrics["exact-match"].value == 1.0
    assert result.rows[0].output == {"reader": {"answer": "Rome"}, "retriever": {"documents": ["a"]}}
    assert result.rows[0].expected == {"reader": {"answer": "Rome"}}


def test_a_runnable_may_bring_its_contexts(client: Client) -> None:
    def rag(query: str) -> dict[str, Any]:
        return {"output": CAPITALS[query], "contexts": ["an atlas"]}

    result = run(client, rag)

    assert result.metrics["exact-match"].value == 1.0
    assert result.rows[0].output == {"output": "Rome", "contexts": ["an atlas"]}


@pytest.mark.parametrize(
    "output", [{"output": "Rome"}, {"answer": "Rome"}, ["Rome"], 7, None, "", Decimal("1.5"), b"\xff"]
)
def test_an_output_comes_back_as_it_was(client: Client, output: Any) -> None:
    result = run(client, lambda query: output, INPUTS[:1], [], evaluators=[])

    assert result.rows[0].output == output


def test_an_output_that_breaks_what_was_declared_is_an_error_of_its_row(client: Client) -> None:
    declared = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}

    def app(query: str) -> dict[str, Any]:
        return {"answer": knows(query) if query != "Japan" else None}

    options: dict[str, Any] = {"parameters": {"output_schema": declared}, "metrics": {"always": lambda *_: 1}}
    seen: list[EvaluationResult] = []
    result = run(client, app, on_progress=seen.append, **options)

    (bad,) = result.errors
    assert (bad.input, bad.error_type) == ({"query": "Japan"}, "bad_output")
    assert "'/output/answer' it has null" in (bad.error_message or "")
    metric = result.metrics["exact-match"]
    assert (metric.value, metric.n, metric.n_error) == (0.5, 3, 1)
    assert (result.metrics["always"].n, bad.scores["always"].value) == (3, None)
    assert all(row.error_type == "bad_output" for one in seen for row in one if row.input == {"query": "Japan"})
    wrong = [{"evaluator": "exact-match", "sample": {"output": "/output/answr"}}]
    with pytest.raises(InvalidError, match="/output/answer"):
        run(client, app, **options, evaluators=wrong)


def test_lengths_must_agree(client: Client) -> None:
    calls: list[str] = []
    with pytest.raises(ValueError, match="3 inputs and 2 expected outputs"):
        run(client, calls.append, ["a", "b", "c"], ["a", "b"])

    assert not calls


def test_there_must_be_inputs(client: Client) -> None:
    with pytest.raises(ValueError, match="no inputs"):
        run(client, knows, [], [])


def test_what_a_runnable_raises_is_an_error_and_no_score(client: Client) -> None:
    def broken(query: str) -> str:
        if query == "Spain":
            raise KeyError("no such country")
        if query == "Japan":
            sys.exit("no such island")
        return CAPITALS[query]

    result = run(client, broken)

    metric = result.metrics["exact-match"]
    assert (metric.value, metric.n, metric.n_error) == (0.5, 2, 2)
    assert "2 scored of 4, 2 failed (worst)" in metric.counts
    assert [row.example_id for row in result.errors] == ["2", "3"]
    assert result.errors[0].error_type == "bug"
    assert result.errors[0].error_message == "KeyError: 'no such country'"
    assert result.errors[1].error_message == "SystemExit: no such island"


def test_partial_results_grow(client: Client) -> None:
    seen = [len(partial.rows) for partial in client.eval_iter(
        knows, INPUTS, EXPECTED, evaluators=["exact-match"], progress=False, threads=1)]  # fmt: skip

    assert seen == sorted(seen)
    assert seen[-1] == 4


def test_progress_is_reported(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    partials: list[EvaluationResult] = []
    run(client, knows, progress=True, on_progress=partials.append)

    assert partials[-1].is_final
    assert partials[-1].metrics["exact-match"].value == 0.75
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "4/4" in captured.err
    assert "exact-match 0.75 [" in captured.err


def test_the_caller_s_own_objects_are_run(client: Client) -> None:
    class Question:
        def to_dict(self) -> dict[str, Any]:
            return {"text": "a"}

    questions = [Question(), Question()]
    seen: list[Any] = []
    result = run(client, lambda one: seen.append(one) or "x", questions, ["x", "x"], threads=1)

    assert {id(one) for one in seen} == {id(one) for one in questions}
    assert result.metrics["exact-match"].value == 1.0


def test_equal_inputs_are_stored_once(client: Client) -> None:
    first = client.experiments_api.experiment(str(run(client, knows).experiment_id))["plan"]
    again = client.experiments_api.experiment(str(run(client, knows, name="again").experiment_id))["plan"]

    assert (first["dataset_id"], first["dataset_version"]) == (again["dataset_id"], again["dataset_version"])


def test_options_that_there_are_not_are_refused(client: Client) -> None:
    with pytest.raises(TypeError, match="seeds"):
        run(client, knows, seeds=1)


def test_an_output_that_cannot_be_stored_is_an_error_of_its_example(client: Client) -> None:
    def huge(query: str) -> str:
        return "x" * 6_000_000 if query == "Spain" else CAPITALS[query]

    result = run(client, huge, threads=1)

    assert (result.metrics["exact-match"].n, result.metrics["exact-match"].n_error) == (3, 1)
    assert [row.error_type for row in result.errors] == ["bad_output"]


def test_what_the_caller_said_of_it_stays(client: Client) -> None:
    result = run(client, knows, parameters={"temperature": 0.5, "prompts": ["a", "b"]})

    assert result.parameters == {"runnable": "tests.client.capitals:knows", "temperature": 0.5, "prompts": ["a", "b"]}


def test_inputs_may_share_something(client: Client) -> None:
    result = run(client, knows, cluster_by=["west", "west", "west", "east"])
    metric = result.metrics["exact-match"]

    assert (metric.n, metric.n_clusters, metric.method) == (4, 2, "cr1")
    assert metric.counts == "4 scored of 4 in 2 clusters"
    with pytest.raises(ValueError, match="2 clusters"):
        run(client, knows, cluster_by=["west", "east"])
