"""Who does not wait: asks for something quick now and then, from a process of its own.

In the callers' own process, an answer would be found late whenever that one is busy with theirs.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache

from benchmarks.http_caller import Caller

BESIDE_SECONDS = 0.1
"""Between two requests of each."""
INLINE = {"evaluators": [{"evaluator": "exact-match"}], "output": "Rome", "label": "Rome", "app": "beside"}
ASKED = {
    "inline evaluate": ("POST", "/v1/evaluate", json.dumps(INLINE).encode()),
    "/readyz": ("GET", "/readyz", b""),
    "admin sign-in": ("GET", "/console/sign-in", b""),
}


def asker() -> ProcessPoolExecutor:
    """Return the process; it starts with its first work."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


class Askers:
    """One connection for each of `ASKED`. They stay open: who has one already is not among the new ones."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.callers: dict[str, Caller] = {}

    async def ask_all(self, port: int, key: str, seconds: float) -> dict[str, list[float]]:
        until = time.monotonic() + seconds
        for name in ASKED.keys() - self.callers.keys():
            self.callers[name] = await Caller.open(port, key)
        took = await asyncio.gather(*(_ask(self.callers[name], *asked, until) for name, asked in ASKED.items()))
        return dict(zip(ASKED, took, strict=True))


_askers = cache(Askers)


def beside(port: int, key: str, seconds: float) -> dict[str, list[float]]:
    """Ask for each of `ASKED` for so long; return how long each answer took, in milliseconds."""
    return _askers().loop.run_until_complete(_askers().ask_all(port, key, seconds))


async def _ask(caller: Caller, method: str, path: str, body: bytes, until: float) -> list[float]:
    took = []
    while time.monotonic() < until:
        began = time.perf_counter()
        status, _, answer = await caller.call(method, path, body)
        took.append((time.perf_counter() - began) * 1000)
        if status != 200:
            raise RuntimeError(f"{path}: {status} {answer[:300]!r}")
        await asyncio.sleep(BESIDE_SECONDS)
    return took
