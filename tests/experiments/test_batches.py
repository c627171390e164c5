"""Outputs that somebody has already, scored in one call."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import EXACT, ok, recounted, run_units

PATH = "/v1/score/batch"
ROWS = [{"id": f"r{i}", "input": "q", "output": "yes", "expected": "yes" if i % 4 else "no"} for i in range(40)]


def score(caller: Caller, status: int = 200, **body: Any) -> Any:
    return ok(caller.post(PATH, {"rows": ROWS, "metrics": [EXACT]} | body), status)


def test_it_scores_rows_and_says_how_sure_the_mean_is(alice: Caller) -> None:
    answer = score(alice)
    metric = answer["metrics"]["accuracy"]
    assert (metric["value"], metric["n"], metric["n_error"], metric["n_na"], answer["n_pending"]) == (0.75, 40, 0, 0, 0)
    assert metric["covers"] == "new data"
    assert metric["lower"] < 0.75 < metric["upper"]
    scores = {row["example_id"]: row["scores"]["accuracy"]["value"] for row in answer["results"]}
    assert scores == {row["id"]: float(row["output"] == row["expected"]) for row in ROWS}
    assert [row["example_id"] for row in answer["results"]] == [row["id"] for row in ROWS]
    assert recounted(alice, answer["experiment_id"]) == []


def test_what_waits_for_workers_is_accepted(alice: Caller) -> None:
    body = {"rows": [{"output": "You are an idiot."}, {"output": "Hello."}]}
    response = alice.post(PATH, body | {"metrics": [{"name": "clean", "evaluator": "toxicity"}]})
    answer = ok(response, 202)
    assert answer["n_pending"] == 2
    run_units()
    (config,) = ok(alice.get(response["Location"]))["configs"]
    assert (config["metrics"]["clean"]["n"], config["metrics"]["clean"]["n_pending"]) == (2, 0)


def test_rows_without_an_expectation_are_counted_apart(alice: Caller) -> None:
    answer = score(alice, rows=[{"output": "a", "expected": "a"}, {"output": "b"}])
    metric = answer["metrics"]["accuracy"]
    assert (metric["n"], metric["n_na"], metric["n_error"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"metrics": [{"name": "x", "evaluator": "none"}]}, "/metrics/0/evaluator"),
        ({"rows": []}, "/rows"),
        ({"rows": [{"output": "x"}] * 1001}, "/rows"),
        ({"rows": [{"id": "a", "output": 1}, {"id": "a", "output": 2}]}, "/rows/1/id"),
        ({"rows": [{"input": "x"}]}, "/rows/0/output"),
        ({"level": 2}, "/level"),
    ],
)
def test_it_says_what_is_wrong_and_stores_nothing(alice: Caller, body: Any, pointer: str) -> None:
    assert score(alice, 422, **body)["errors"][0]["pointer"] == pointer
    assert ok(alice.get("/v1/experiments"))["experiments"] == []
    assert ok(alice.get("/v1/datasets"))["datasets"] == []


def test_a_batch_is_the_accounts_own(alice: Caller, charlie: Caller) -> None:
    answer = score(alice)
    ok(charlie.get(f"/v1/experiments/{answer['experiment_id']}/live"), 404)


def test_what_is_refused_leaves_nothing(alice: Caller) -> None:
    body = {"rows": [{"output": "x"}], "metrics": [{"name": "a", "evaluator": "no-such-evaluator"}]}
    assert alice.post(PATH, body).status_code == 422
    assert alice.get("/v1/datasets").json()["datasets"] == []
    assert alice.get("/v1/experiments").json()["experiments"] == []
