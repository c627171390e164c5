"""The type of a metric, in either spelling."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import make_dataset, make_experiment

CONFIGS = [{"name": "mine", "kind": "push"}]


@pytest.mark.parametrize(("said", "kind"), [
    ({}, "algebraic"),
    ({"is_algebraic": True}, "algebraic"),
    ({"is_distributive": True, "is_algebraic": False}, "distributive"),
    ({"is_algebraic": False}, "untyped"),
    ({"is_algebraic": False, "is_distributive": False}, "untyped"),
    ({"is_algebraic": None}, "algebraic"),
])  # fmt: skip
def test_flags_name_a_type(alice: Caller, said: dict[str, Any], kind: str) -> None:
    metric = {"name": "m", "source": "client", "value_range": [0, 1]} | said
    made = make_experiment(alice, make_dataset(alice, n=2), CONFIGS, metrics=[metric])

    assert made["plan"]["metrics"][0]["type"] == kind


@pytest.mark.parametrize(("said", "pointer"), [
    ({"type": "ratio", "is_algebraic": True}, "/plan/metrics/0/type"),
    ({"is_algebraic": True, "is_distributive": True}, "/plan/metrics/0/is_distributive"),
])  # fmt: skip
def test_two_types_are_refused(alice: Caller, said: dict[str, Any], pointer: str) -> None:
    metric = {"name": "m", "source": "client"} | said
    plan = {"dataset_id": make_dataset(alice, n=2), "metrics": [metric]}
    answer = alice.post("/v1/experiments", {"name": "x", "plan": plan, "configs": CONFIGS})

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)
