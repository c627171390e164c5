"""Histories with a change in them, and monitors of them."""

from __future__ import annotations

import itertools
from typing import Any

from django.utils import timezone

from evalsvc.monitors.progress import advance_monitors
from tests.conftest import Caller
from tests.factories import ok

MONITORS, ALARMS = "/v1/monitors", "/v1/alarms"
BODY = {"name": "answers", "evaluator": "exact-match"}
_samples = itertools.count(1)


def verdicts(n: int, every: int | None) -> list[bool]:
    """Return n verdicts of which each `every`-th is a fail; None: none is."""
    return [every is None or i % every != every - 1 for i in range(n)]


def send(caller: Caller, passes: list[bool], **shared: Any) -> None:
    """Evaluate distinct samples with these verdicts, by exact-match, and keep them all."""
    for start in range(0, len(passes), 100):
        samples = [
            {"task_input": f"question {next(_samples)}", "output": "a" if is_pass else "b", "gold_answer": "a"}
            for is_pass in passes[start : start + 100]
        ]
        body = {"evaluators": [{"evaluator": "exact-match"}], "capture": "all", "samples": samples} | shared
        assert {row["status"] for row in ok(caller.post("/v1/evaluate/batch", body))["rows"]} == {200}


def new_monitor(caller: Caller, **fields: Any) -> Any:
    """Create a monitor through the API and return it."""
    return ok(caller.post(MONITORS, BODY | fields), 201)["monitor"]


def advance(portion: int = 2000) -> int:
    """Let every monitor read what is new; return how many scores that were."""
    return advance_monitors(timezone.now(), portion=portion)


def alarms(caller: Caller, query: str = "") -> Any:
    """Return the alarms that a query finds, the newest first."""
    return ok(caller.get(f"{ALARMS}?{query}"))["alarms"]


def monitor(caller: Caller, id: str) -> Any:
    return ok(caller.get(f"{MONITORS}/{id}"))["monitor"]
