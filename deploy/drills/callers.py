"""Callers that send evaluations until they are answered with ids, each under one Idempotency-Key, and note these."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from deploy.drills.counting import Accepted

RETRIED = {409, 429, 500, 502, 503, 504}
PAUSE = 0.1
N_CALLERS = 8
WORKER_EVERY = 4
"""Each fourth call has an evaluator that workers compute; the others are answered by the web process alone."""


class CallRefused(Exception):
    """The API answered what no retry mends; the message says what."""


@dataclass
class Load:
    """Calls of one account, by several callers at once, until it is ended or so many have been made."""

    url: str
    key: str
    name: str
    limit: int | None = None
    pause: float = 0.0
    """Seconds that each caller waits after an answer."""
    accepted: list[Accepted] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Begin."""
        numbers = iter(itertools.count() if self.limit is None else range(self.limit))
        lock = threading.Lock()

        def next_number() -> int | None:
            with lock:
                return next(numbers, None)

        self._threads = [threading.Thread(target=self._go_on, args=(next_number,)) for _ in range(N_CALLERS)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Let each caller end its call, or give up trying it."""
        self.ended.set()
        self.join()

    def join(self) -> None:
        """Wait until the last call is made. Raises CallRefused."""
        for thread in self._threads:
            thread.join()
        if self.refused:
            raise CallRefused(self.refused[0])

    def wait_for(self, n: int, tell: Callable[[str], None], *, seconds: float = 600) -> None:
        """Wait until so many have been answered. Raises CallRefused or TimeoutError."""
        deadline, told_at = time.monotonic() + seconds, time.monotonic()
        while (done := len(self.accepted)) < n:
            if self.refused:
                raise CallRefused(self.refused[0])
            if time.monotonic() > deadline:
                raise TimeoutError(f"{done} of {n} evaluations were answered within {seconds:.0f} s")
            if time.monotonic() - told_at > 2:
                told_at = time.monotonic()
                tell(f"    {done} of {n} evaluations answered")
            time.sleep(0.02)

    def _go_on(self, next_number: Callable[[], int | None]) -> None:
        with httpx.Client(base_url=self.url, timeout=40, trust_env=False) as client:
            while not self.ended.is_set() and (number := next_number()) is not None:
                try:
                    call = self._send(client, number)
                except CallRefused as exc:
                    self.refused.append(str(exc))
                    return
                if call:
                    self.accepted.append(call)
                self.ended.wait(self.pause)

    def _send(self, client: httpx.Client, number: int) -> Accepted | None:
        """Send until it is accepted; None if the load ends first."""
        label = f"{self.name}-{number:05d}"
        headers = {"X-API-KEY": self.key, "Idempotency-Key": label}
        headers["Prefer"] = "respond-async" if number % 3 == 0 else "wait=5"
        body, first = body_of(label, number), time.time()
        while True:
            sent = time.time()
            try:
                answer = client.post("/v1/evaluate", json=body, headers=headers)
            except httpx.HTTPError:
                answer = None
            if answer is not None and answer.status_code in (200, 202):
                return accepted(label, answer.json(), first, sent, time.time())
            if answer is not None and answer.status_code not in RETRIED:
                raise CallRefused(f"POST /v1/evaluate: {answer.status_code} {answer.text}")
            if self.ended.wait(PAUSE):
                return None


def body_of(label: str, number: int) -> dict[str, Any]:
    """Return the call: captured, and found again by its label."""
    with_worker = [{"evaluator": "toxicity"}] if number % WORKER_EVERY == 0 else []
    return {
        "evaluators": [{"evaluator": "exact-match"}, {"evaluator": "pii"}, *with_worker],
        "evaluated_model_output": f"Answer {label} is a friendly one.",
        "evaluated_model_gold_answer": f"Answer {label} is a friendly one." if number % 2 else "No.",
        "dataset_sample_id": label,
        "app": "drill",
    }


def accepted(label: str, body: dict[str, Any], first: float, sent: float, now: float) -> Accepted:
    """Return what the caller holds in its hands from now on: the ids."""
    ids = tuple(int(result["evaluation_id"]) for result in body["results"])
    return Accepted(label, int(body["id"]), ids, first, sent, now)
