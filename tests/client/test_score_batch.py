"""Outputs that somebody has already, scored in one call."""

from __future__ import annotations

import pytest

from evalsvc.client import Client, InvalidError, NotFoundError

ROWS: list[dict[str, object]] = [
    {"id": "a", "input": "2 + 2", "output": "4", "expected": ["four", "4"]},
    {"id": "b", "input": "3 + 3", "output": "7", "expected": "6"},
    {"id": "c", "input": "1 + 1", "output": 2, "expected": 2, "metadata": {"topic": "sums"}},
]


def test_it_scores_rows_with_several_evaluators_and_estimates_them(client: Client, stranger: Client) -> None:
    result = client.score_batch(ROWS, ["exact-match", "metrics/patronus:compute-squad-f1"], name="mine")
    exact = result.metrics["exact-match"]
    assert (exact.value, exact.n, exact.N, exact.covers) == (pytest.approx(2 / 3), 3, 3, "new data")
    assert exact.lower is not None and exact.value is not None and exact.upper is not None
    assert exact.lower < exact.value < exact.upper
    found = {row.example_id: row.scores["exact-match"].value for row in result}
    assert found == {"a": 1.0, "b": 0.0, "c": 1.0}
    assert {row.example_id: row.output for row in result} == {"a": "4", "b": "7", "c": 2}
    with pytest.raises(NotFoundError):
        stranger.resume_experiment(str(result.experiment_id))


@pytest.mark.usefixtures("scheduler_running")
def test_it_waits_for_evaluators_that_need_a_worker(client: Client) -> None:
    result = client.score_batch([{"output": "Have a nice day."}], ["toxicity"])
    assert (result.metrics["toxicity"].n, result.metrics["toxicity"].n_pending) == (1, 0)


def test_a_row_that_cannot_be_read_is_named(client: Client) -> None:
    with pytest.raises(InvalidError) as caught:
        client.score_batch([{"output": "x"}, {"outptu": "x"}], ["exact-match"])
    assert "/rows/1" in str(caught.value.errors)


def test_the_caller_says_whether_scores_enter_the_history(client: Client) -> None:
    client.score_batch(ROWS, ["exact-match"])
    client.eval(lambda text: text, ["a", "b"], ["a", "b"], evaluators=["exact-match"], progress=False)
    promoted = {"include_experiments": "promoted"}
    assert client.history("exact-match", interval=promoted).n_total == 0
    client.score_batch(ROWS, ["exact-match"], promote=True)
    interval = client.history("exact-match", interval=promoted).interval
    assert interval is not None and interval.sources["experiment"]["n"] == 3
