"""`eval` is scored by evaluators of the service, by functions of the caller's own, and by a default set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from evalsvc.client import Client, CustomMetric, InvalidError
from evalsvc.client.scoring.defaults import JUDGED, SIMILARITY, default_evaluators
from tests.client.capitals import EXPECTED, INPUTS, knows, run
from tests.conftest import Caller, start_worker, stop_group
from tests.factories import make_connection


def test_own_metrics_are_estimated_by_the_service(client: Client) -> None:
    def length(input: Any, output: str, expected: Any) -> float:
        return len(output)

    def right(input: Any, output: str, expected: str) -> bool:
        return output == expected

    def words(input: Any, output: str, expected: str) -> tuple[int, int]:
        return len(output.split()), 2

    own = {"length": length, "right": CustomMetric(right, binary=True), "ratio": CustomMetric(words, ratio=True)}
    result = run(client, knows, evaluators=[], metrics=own)

    assert result.metrics["length"].value == (4 + 5 + 9 + 5) / 4
    assert (result.metrics["right"].value, result.metrics["right"].n) == (0.75, 4)
    assert result.metrics["ratio"].value == 0.5
    assert result.rows[2].scores["right"].value == 0.0


def test_a_metric_that_breaks_is_missing(client: Client) -> None:
    def picky(input: Any, output: str, expected: Any) -> float:
        if output == "Rome":
            raise ValueError("not Rome again")
        return float("nan") if output == "Paris" else 1.0

    result = run(client, knows, evaluators=["exact-match"], metrics={"picky": picky})

    assert (result.metrics["picky"].n, result.metrics["picky"].n_error) == (2, 2)
    assert result.metrics["exact-match"].n == 4
    assert result.rows[0].scores["picky"].error_message == "ValueError: not Rome again"


def test_without_metrics_outputs_are_kept_to_be_scored_later(client: Client, scheduler_running: None) -> None:
    calls: Counter[str] = Counter()

    def counted(query: str) -> str:
        calls[query] += 1
        return knows(query)

    result = run(client, counted, evaluators=[])
    found = result.calculate_metrics("exact-match", lambda input, output, expected: output == expected)

    assert [metric.value for metric in found.values()] == [0.75, 0.75]
    assert set(calls.values()) == {1}


def test_blind_is_without_expectations(client: Client) -> None:
    result = run(client, knows, expected=[], evaluators=["pii", "exact-match"])

    assert result.metrics["pii"].value == 1.0
    assert (result.metrics["exact-match"].n, result.metrics["exact-match"].n_na) == (0, 4)
    assert (result.metrics["exact-match"].n_error, result.metrics["exact-match"].N) == (0, 4)
    assert result.rows[0].scores["exact-match"].error_code == "not_applicable"


def test_an_evaluator_that_there_is_not_is_refused_before_anything_runs(client: Client) -> None:
    calls: list[str] = []
    with pytest.raises(InvalidError) as caught:
        run(client, calls.append, evaluators=["nonsense"])

    assert caught.value.errors[0].pointer == "/plan/metrics/0/evaluator"
    assert not calls


@pytest.fixture(scope="module")
def scoring_worker() -> Iterator[None]:
    """A worker for evaluators that are too heavy for the web process."""
    process = start_worker("experiments")
    yield
    stop_group(process)


def test_workers_score_what_is_heavy(client: Client, scoring_worker: None) -> None:
    def length(input: Any, output: str, expected: Any) -> float:
        return len(output)

    result = run(client, knows, evaluators=["toxicity", "exact-match"], metrics={"length": length})

    assert {name: metric.n for name, metric in result.metrics.items()} == {"toxicity": 4, "exact-match": 4, "length": 4}
    assert [row.output for row in result] == ["Rome", "Paris", "Barcelona", "Tokyo"]
    assert result.rows[0].scores["length"].value == 4.0


def test_without_evaluators_it_takes_what_fits_and_says_so(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    result = client.eval(knows, INPUTS, EXPECTED, threads=2)

    assert list(result.metrics) == ["exact-match", "metrics/compute-squad-f1"]
    assert "no connection to a judge" in capsys.readouterr().err


def test_without_evaluators_a_judge_brings_the_default_set(client: Client, alice: Caller) -> None:
    make_connection(alice, "https://llm.example/v1", name="judge")
    names, why = default_evaluators(client._transport, has_expected=False, has_contexts=True)

    assert names == JUDGED
    assert "'judge'" in why
    assert default_evaluators(client._transport, has_expected=True, has_contexts=False)[0] == (SIMILARITY, *JUDGED)
