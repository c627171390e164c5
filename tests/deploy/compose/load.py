"""Callers that go on while parts of the stack die, and what became of their calls."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx

GIVE_UP_SECONDS = 240


@dataclass
class Calls:
    """What callers sent, and what they were answered."""

    sent: int = 0
    accepted: list[str] = field(default_factory=list)
    """Ids of requests whose answer came, in the end."""
    trouble: list[str] = field(default_factory=list)
    """Answers and errors that made a caller try again."""
    lost: list[str] = field(default_factory=list)


def evaluate(client: httpx.Client, evaluator: str, calls: Calls) -> None:
    """Evaluate once; until it is answered, send the same again under one Idempotency-Key, as the documentation says."""
    body = {
        "evaluators": [{"evaluator": evaluator}],
        "evaluated_model_output": "Have a lovely day.",
        "app": "load",
        "capture": "all",
    }
    body |= {"evaluated_model_gold_answer": "Have a lovely day."}
    key = uuid.uuid4().hex
    calls.sent += 1
    until = time.monotonic() + GIVE_UP_SECONDS
    while time.monotonic() < until:
        try:
            answer = client.post("/v1/evaluate", json=body, headers={"Idempotency-Key": key})
        except httpx.HTTPError as exc:
            calls.trouble.append(type(exc).__name__)
        else:
            if answer.status_code in (200, 202):
                calls.accepted.append(answer.json()["id"])
                return
            calls.trouble.append(f"{answer.status_code}")
        time.sleep(0.5)
    calls.lost.append(key)


@contextlib.contextmanager
def calling(make: Callable[[], httpx.Client], *evaluators: str, pause: float = 0.1) -> Iterator[Calls]:
    """Call from a thread for each evaluator until the block ends, and until each call is answered."""
    calls, stop = Calls(), threading.Event()

    def go_on(evaluator: str) -> None:
        with make() as client:
            while not stop.wait(pause):
                evaluate(client, evaluator, calls)

    threads = [threading.Thread(target=go_on, args=(name,), daemon=True) for name in evaluators]
    for thread in threads:
        thread.start()
    try:
        yield calls
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=GIVE_UP_SECONDS + 60)
