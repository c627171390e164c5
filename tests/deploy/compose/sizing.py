"""What each container of the running stack holds and costs, read off its processes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

import httpx
import psutil

from tests.deploy.compose.stack import SERVICES, Stack
from tests.deploy.containers import podman

CALLERS = 16


@dataclass(frozen=True)
class Cost:
    """Of one container."""

    cpu_seconds: float
    """Processor time of its living processes, since they began."""
    megabytes: float
    """Memory, what is shared counted by shares (PSS)."""


def costs(stack: Stack) -> dict[str, Cost]:
    """Return what each service's container has cost so far."""
    return {service: _of(_processes(stack.container(service))) for service in SERVICES}


def _processes(container: str) -> list[psutil.Process]:
    first = psutil.Process(int(podman("inspect", container, "--format", "{{.State.Pid}}").stdout))
    return [first, *first.children(recursive=True)]


def _of(processes: list[psutil.Process]) -> Cost:
    cpu, memory = 0.0, 0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            cpu += times.user + times.system
            memory += process.memory_full_info().pss
    return Cost(cpu, memory / 1e6)


def calls_in(stack: Stack, body: Mapping[str, object], seconds: float) -> tuple[int, list[int]]:
    """Call from many threads for so long; return how many were answered, and the statuses that are not 200."""
    until, answered, other = time.monotonic() + seconds, [0] * CALLERS, []

    def go_on(number: int) -> None:
        with stack.client() as client:
            while time.monotonic() < until:
                try:
                    status = client.post("/v1/evaluate", json=body).status_code
                except httpx.HTTPError:
                    status = 0
                answered[number] += 1
                if status != 200:
                    other.append(status)

    threads = [threading.Thread(target=go_on, args=(number,)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(answered), other


def table(before: Mapping[str, Cost], after: Mapping[str, Cost], calls: int) -> str:
    """Return a line for each service: memory at rest and under load, milliseconds of a processor for each call."""
    lines = [f"{'service':<20}{'MB at rest':>12}{'MB loaded':>12}{'CPU ms/call':>13}"]
    for service, cost in after.items():
        spent = (cost.cpu_seconds - before[service].cpu_seconds) * 1000 / calls
        lines.append(f"{service:<20}{before[service].megabytes:>12.0f}{cost.megabytes:>12.0f}{spent:>13.2f}")
    return "\n".join(lines)
