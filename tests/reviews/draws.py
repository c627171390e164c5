"""Scores made elsewhere, and reviews that draw some of them for people to label."""

from __future__ import annotations

import json
import uuid
from typing import Any

from tests.conftest import Caller
from tests.factories import ok
from tests.reviews.shapes import REVIEWS, new_review

HISTORY = "/v1/history?evaluator=external:judge"
EVALUATIONS: dict[str, Any] = {
    "evaluations": {"filters": [{"field": "evaluator_id", "operation": "eq", "value": "external:judge"}]}
}


def send_scores(caller: Caller, verdicts: list[bool | None], app: str = "shop", **fields: Any) -> None:
    """Send scores made elsewhere; the output of each is its verdict."""
    rows = [
        {"evaluator_id": "judge", "log_id": str(uuid.uuid4()), "app": app, "pass": verdict, "score": VALUES[verdict]}
        | fields
        for verdict in verdicts
    ]
    for start in range(0, len(rows), 50):
        found = ok(caller.post("/v1/evaluations/batch", {"evaluations": rows[start : start + 50]}))
        assert found["errors"] == []


VALUES: dict[bool | None, float] = {True: 1.0, False: 0.0, None: 0.5}


def judged(n: int) -> list[bool | None]:
    """Four of five pass."""
    return [i % 5 != 0 for i in range(n)]


def drawn(caller: Caller, criteria: Any, n: int, **fields: Any) -> Any:
    return new_review(caller, EVALUATIONS, criteria, sample={"method": "random", "n": n}, **fields)


def answer_items(caller: Caller, review: Any, criteria: Any, values: list[Any], *, skip: int = 0) -> None:
    """Import answers to the items from `skip` on, in the order of the draw."""
    text = caller.get(f"{REVIEWS}/{review['id']}/export?format=jsonl").getvalue().decode()
    rows = [json.loads(line) for line in text.splitlines()][skip:]
    said = [
        row | {f"answer:{criteria['name']}": value, "reviewer": "ann"} for row, value in zip(rows, values, strict=False)
    ]
    body = {"format": "jsonl", "text": "\n".join(map(json.dumps, said))}
    assert ok(caller.post(f"{REVIEWS}/{review['id']}/import", body))["n_kept"] == len(values)
