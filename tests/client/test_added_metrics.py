"""Metrics that are added to a result: scored by the service where it has the experiment, and never over the run's."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evalsvc.client import Client, EvaluationResult, InvalidError
from tests.client.capitals import EXPECTED, INPUTS, knows, run

BLEU = "metrics/compute-levenshtein"


def test_an_evaluator_is_added_to_the_experiment(client: Client, scheduler_running: None) -> None:
    calls: Counter[str] = Counter()

    def counted(query: str) -> str:
        calls[query] += 1
        return knows(query)

    result = run(client, counted)
    before = dict(result.metrics)
    found = result.calculate_metrics(BLEU)

    assert (found[BLEU].n, found[BLEU].n_pending, found[BLEU].covers) == (4, 0, result.metrics["exact-match"].covers)
    assert [row.scores[BLEU].value for row in result][:2] == [1.0, 1.0]
    assert set(calls.values()) == {1}
    assert {name: result.metrics[name] for name in before} == before
    again = client.resume_experiment(str(result.experiment_id)).result("eval")
    assert again.metrics[BLEU] == found[BLEU]


def test_what_the_run_has_scored_is_never_contradicted(client: Client, scheduler_running: None) -> None:
    result = run(client, knows)
    scores = [row.scores["exact-match"] for row in result]
    estimate = result.metrics["exact-match"]

    with pytest.raises(InvalidError) as refused:
        result.calculate_metrics("exact-match")
    with pytest.raises(InvalidError):
        result.calculate_metrics(lambda input, output, expected: 0.0, name="exact-match")

    assert refused.value.code == "already_exists"
    assert [row.scores["exact-match"] for row in result] == scores
    assert result.metrics["exact-match"] == estimate


def test_a_function_is_called_here_and_its_numbers_are_sent(client: Client, scheduler_running: None) -> None:
    result = run(client, knows)

    def right(input: Any, output: Any, expected: Any) -> float:
        if output == "Tokyo":
            raise ValueError("not Tokyo")
        return float(output == expected)

    found = result.calculate_metrics(right)["right"]

    assert (found.n, found.n_error, found.n_pending, found.N) == (3, 1, 0, 4)
    assert found.value == pytest.approx(2 / 3)
    assert result.rows[3].scores["right"].error_message == "ValueError: not Tokyo"
    assert result.calculate_metrics(right)["right"] == found


def test_another_function_of_the_same_name_is_refused(client: Client, scheduler_running: None) -> None:
    result = run(client, knows)
    result.calculate_metrics(lambda input, output, expected: 1.0)
    kept = [dict(row.scores) for row in result.rows]

    for other, gives in ((lambda input, output, expected: 0.0, "0"), (lambda input, output, expected: 1 / 0, "none")):
        with pytest.raises(ValueError, match=f"other numbers: 1, where this function gives {gives}.*another `name`"):
            result.calculate_metrics(other)

    assert [dict(row.scores) for row in result.rows] == kept
    assert result.calculate_metrics(lambda input, output, expected: 0.0, name="none")["none"].value == 0.0


def test_a_component_is_scored_where_the_run_put_it(client: Client, scheduler_running: None) -> None:
    def pipeline(query: str) -> Any:
        return {"reader": {"answer": knows(query)}, "retriever": {"answer": "nothing"}}

    expected = [{"reader": {"answer": one}} for one in EXPECTED]
    result = run(client, pipeline, INPUTS, expected, evaluators=[])
    found = result.calculate_metrics("exact-match", component="reader")["reader.exact-match"]

    assert (found.n, found.value) == (4, 0.75)


def test_a_saved_result_is_scored_in_the_service(client: Client, scheduler_running: None, tmp_path: Path) -> None:
    path = run(client, knows).save(tmp_path / "result.json")
    loaded = EvaluationResult.load(path, client=client)

    assert loaded.calculate_metrics(BLEU)[BLEU].n == 4
    loaded.save(path)
    assert EvaluationResult.load(path).metrics == loaded.metrics
    with pytest.raises(ValueError, match="another `name`"):
        EvaluationResult.load(path).calculate_metrics(lambda input, output, expected: 1, name=BLEU)


def test_a_deleted_experiment_is_scored_here_under_a_new_name(client: Client) -> None:
    result = run(client, knows)
    client.experiments_api.transport.call("DELETE", f"/v1/experiments/{result.experiment_id}")

    found = result.calculate_metrics("exact-match", name="again")["again"]

    assert (found.value, found.n, found.covers) == (0.75, 4, "new data")
    with pytest.raises(ValueError, match="has a metric 'exact-match' already"):
        result.calculate_metrics("exact-match")


def test_it_says_when_nobody_scores(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalsvc.client.scoring import added_metrics

    monkeypatch.setattr(added_metrics, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    with pytest.raises(TimeoutError, match="known of 0 outputs"):
        run(client, knows).calculate_metrics(BLEU)
