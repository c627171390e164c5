"""Requests that are kept without an answer, as their lanes find them."""

from __future__ import annotations

from typing import Any

from evalsvc.evaluations.evaluate import captures
from tests.conftest import Caller

EVALUATOR = "exact-match-2026-11-28"
PAIR = (EVALUATOR, "patronus:exact-match")
SUCCESS = {"status": "success", "score": 0.75, "passed": True}


def keep(
    caller: Caller, *rows: dict[str, Any], capture: str = "all", lease_seconds: float = 600.0
) -> captures.CaptureResult:
    base: dict[str, Any] = {"evaluator_id": PAIR[0], "runs": PAIR[0], "profile_name": PAIR[1], "family": "exact-match"}
    base |= {"explain_strategy": "never", "lane": "cpu", "in_history": False}
    request = {"capture": capture, "strategy": "none", "fingerprint": 1, "output": "a"}
    sent = [{**base, "position": i, "status": "pending", **row} for i, row in enumerate(rows)]
    return captures.capture(caller.account.pk, request, sent, [PAIR], epoch=None, lease_seconds=lease_seconds)


def pending(caller: Caller, *, lease_seconds: float = 600.0) -> int:
    """Keep a request whose one evaluation waits for a worker that nobody has told."""
    request = {"capture": "all", "strategy": "none", "fingerprint": 1, "output": "Paris", "gold": "Paris"}
    row = {"position": 0, "evaluator_id": EVALUATOR, "runs": EVALUATOR, "profile_name": "patronus:exact-match"}
    row |= {"family": "exact-match", "explain_strategy": "never", "lane": "cpu", "status": "pending"}
    row |= {"in_history": False}
    kept = captures.capture(caller.account.pk, request, [row], [None], epoch=None, lease_seconds=lease_seconds)
    return kept.request_id
