"""`eval` with several samples of each example."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from evalsvc.client import Client, EvaluationResult
from tests.client.capitals import CAPITALS, run


class Unsteady:
    """Knows every other time; breaks on the fourth call about Japan, and every time about Spain."""

    def __init__(self) -> None:
        self.turns = {name: itertools.count() for name in CAPITALS}

    def __call__(self, query: str) -> str:
        turn = next(self.turns[query])
        if query == "Spain" or (query == "Japan" and turn == 3):
            raise RuntimeError("no")
        return CAPITALS[query] if turn % 2 == 0 else "?"


def sampled(client: Client, **options: Any) -> EvaluationResult:
    return run(client, Unsteady(), n_samples=4, **options)


def test_each_row_is_run_so_often_and_scores_the_mean(client: Client) -> None:
    result = sampled(client)
    assert [row.status for row in result] == ["ok", "ok", "error", "ok"]
    assert [row.scores["exact-match"].value for row in result] == [0.5, 0.5, None, 0.5]
    assert [row.scores["exact-match"].n_scored for row in result] == [4, 4, 0, 4]
    first, *_, last = result.rows
    assert first.samples is not None and [one.output for one in first.samples] == ["Rome", "?", "Rome", "?"]
    assert last.samples is not None and last.samples[3].error_message == "RuntimeError: no"
    assert (result.metrics["exact-match"].n, result.metrics["exact-match"].n_error) == (3, 1)


def test_it_tells_what_more_would_buy(client: Client) -> None:
    split = sampled(client).metrics["exact-match"].variance_split
    assert split is not None and (split["n"], split["n_samples"]) == (3, 4)
    assert [(one["n"], one["n_samples"]) for one in split["expected"]] == [(3, 8), (3, 10), (6, 4)]


def test_scorers_of_the_callers_score_each_sample(client: Client) -> None:
    def right(input: str, output: str, expected: str) -> float:
        if output == "?":
            raise ValueError("?")
        return float(output == expected)

    result = sampled(client, metrics={"right": right})
    assert [row.scores["right"].value for row in result] == [1.0, 1.0, None, 1.0]
    assert [row.scores["right"].n_scored for row in result] == [2, 2, 0, 2]


def test_a_saved_result_keeps_the_samples(client: Client, tmp_path: Path) -> None:
    result = sampled(client)
    again = EvaluationResult.load(result.save(tmp_path / "result.json"))
    assert again.rows == result.rows
    assert again.metrics["exact-match"].variance_split == result.metrics["exact-match"].variance_split


def test_one_sample_is_the_row(client: Client) -> None:
    result = run(client, lambda query: CAPITALS[query])
    assert {row.samples is None for row in result} == {True}
    assert result.metrics["exact-match"].variance_split is None


def test_what_the_service_refuses_is_an_error_of_each_sample(client: Client) -> None:
    def deep(query: str) -> Any:
        value: Any = 1
        for _ in range(80):
            value = [value]
        return value

    result = run(client, deep, n_samples=2)
    assert {row.error_type for row in result} == {"bad_output"}
    assert all(len(row.samples or []) == 2 for row in result)
