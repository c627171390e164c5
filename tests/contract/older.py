"""What the tests of older clients share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

Http = Callable[..., httpx.Client]
RUBRIC = {"metric": "rougeL", "pass_threshold": 0.5}


PII, TOXIC = {"evaluator": "pii"}, {"evaluator": "toxicity"}


def own_profile(client: httpx.Client, name: str = "close") -> dict[str, Any]:
    body = {"evaluator_family": "metrics", "name": name, "config": RUBRIC}
    answer = client.post("/v1/evaluator-profiles", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["evaluator_profile"]
    return found
