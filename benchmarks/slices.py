"""Slices of load on a running version: requests per second, latencies, and the CPU time of each group of processes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.load import Connections, answer_to, http_request
from benchmarks.versions import Side

# A slice of half a second is long beside the ten milliseconds in which CPU time is counted, and short beside what a
# machine does from minute to minute.
SECONDS = 0.6
Requests = Sequence[bytes]


@dataclass(frozen=True)
class Slice:
    """What a slice has measured; milliseconds, CPU time a request."""

    rate: float
    p50: float
    p99: float
    cpu: dict[str, float]
    client_cpu: float

    @property
    def total(self) -> float:
        """CPU time of a request in all servers together."""
        return sum(self.cpu.values())


class Failed(Exception):
    """Requests were refused; figures of those that were not would mislead."""


def requests_to(path: str, bodies: Sequence[Any], side: Side | None = None) -> Requests:
    """Write the bodies as requests, with the key of a side."""
    headers = {"X-API-KEY": side.key} if side else {}
    return [http_request(path, json.dumps(body).encode(), headers) for body in bodies]


def take(side: Side, part: str, requests: Requests, *, n: int, seconds: float) -> Slice:
    """Load a part of a side over n connections, each of which has had an answer before."""
    with Connections(side.ports[part], n) as connections:
        connections.prime(requests)
        before, client = side.cpu(), time.process_time()
        load = connections.run(requests, seconds=seconds)
        client, after = time.process_time() - client, side.cpu()
    if load.n_failed or not load.latencies:
        raise Failed(f"{side.name}, {n} connections: {dict(load.errors) or 'no answer'}")
    done = len(load.latencies)
    cpu = {name: (after[name] - before[name]) * 1000 / done for name in after}
    return Slice(load.rate, load.percentile(0.5), load.percentile(0.99), cpu, client * 1000 / done)


def check(side: Side, part: str, requests: Requests, is_right: Callable[[Any], bool]) -> None:
    """Look into the answers once: a 200 that says what was wrong would be quick, and measure nothing."""
    for request in requests:
        answer = answer_to(side.ports[part], request)
        if not is_right(json.loads(answer)):
            raise Failed(f"{side.name}, not what was to be measured: {answer[:500]!r}")


def all_succeeded(answer: Any) -> bool:
    """Say whether every evaluator of a call has given its verdict."""
    return bool(answer["results"]) and all(result["status"] == "success" for result in answer["results"])


def warm_up(side: Side, part: str, requests: Requests, n_requests: int) -> None:
    """Send so many requests, then vacuum: a service that has been up for a while."""
    with Connections(side.ports[part], 16) as connections:
        load = connections.run(requests, seconds=600, at_most=n_requests)
    if load.n_failed:
        raise Failed(f"{side.name}, warming up: {dict(load.errors)}")
    side.settle()
