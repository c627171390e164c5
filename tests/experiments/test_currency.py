"""Answers with costs name the currency of the installation."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from tests.conftest import Caller
from tests.experiments.conftest import make_dataset, make_experiment
from tests.factories import ok

PUSH = [{"name": "a", "kind": "push", "parameters": {}}]


@pytest.fixture(autouse=True)
def euros() -> Any:
    with override_settings(CURRENCY="EUR"):
        yield


def test_of_experiments(alice: Caller) -> None:
    rows = [{"id": "a", "input": "q", "expected": "x"}]
    made = make_experiment(alice, make_dataset(alice, rows), PUSH)
    scored = ok(
        alice.post(
            "/v1/score/batch",
            {"rows": [{"output": "x", "expected": "x"}], "metrics": [{"name": "em", "evaluator": "exact-match"}]},
        )
    )

    assert ok(alice.get(f"/v1/experiments/{made['id']}/live"))["experiment"]["currency"] == "EUR"
    assert ok(alice.get(f"/v1/experiments/{made['id']}/report?format=json"))["summary"]["currency"] == "EUR"
    assert scored["results"][0]["currency"] == "EUR"


def test_of_connections(alice: Caller) -> None:
    body = {"name": "c", "base_url": "https://llm.example.com/v1", "model": "m", "key": "k"}
    made = ok(alice.post("/v1/connections", body), 201)["connection"]

    assert made["currency"] == "EUR"
    assert [row["currency"] for row in ok(alice.get("/v1/connections"))["connections"]] == ["EUR"]
