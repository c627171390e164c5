"""What one account's floods cost another: its inline evaluations alone and beside them, and the memory of web processes.

    python -m benchmarks.shares                     16 clients that search, then 700 bodies that come slowly
    python -m benchmarks.shares --only search       one of them

The pages have 1000 evaluations of 33 kB each, as large as they may be. `--offset` asks for them as clients do that page by
offset. Each body is sent with a valid key, byte by byte; a sender that is refused comes again after a second, as
`Retry-After` says.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import psutil

from benchmarks.figures import Goal, Row, figure, text_of
from benchmarks.frame import Report, parser, run
from benchmarks.http_caller import Caller
from benchmarks.memory import pss_of
from benchmarks.stack import account_with_key, gunicorn, stack
from benchmarks.waiting import percentile

INLINE = {"evaluators": [{"evaluator": "exact-match"}], "output": "Rome", "label": "Rome", "app": "beside"}
PAUSE_SECONDS = 0.05
"""Between two calls of the other account."""
N_ROWS, ROW_CHARS, ROWS_A_CALL = 1000, 33_000, 100
REST_SECONDS = 60.0
"""After which memory is looked at again."""
GOAL_MEMORY = 1.3
PARTS = ("search", "bodies")


@dataclass(frozen=True)
class Flood:
    """A flood of one account: its clients, the percentile that is looked at, and the goal of its ratio."""

    name: str
    clients: Callable[..., Coroutine[Any, Any, Counter[str]]]
    n: int
    q: float
    goal: float


async def call_beside(port: int, key: str, seconds: float) -> list[float]:
    """Call as the other account for so long; return the milliseconds of each answer."""
    caller, until, took = await Caller.open(port, key), time.monotonic() + seconds, []
    while time.monotonic() < until:
        began = time.perf_counter()
        status, _, answer = await caller.call("POST", "/v1/evaluate", json.dumps(INLINE).encode())
        took.append((time.perf_counter() - began) * 1000)
        if status != 200:
            raise RuntimeError(f"/v1/evaluate: {status} {answer[:300]!r}")
        await asyncio.sleep(PAUSE_SECONDS)
    caller.close()
    return took


async def search(port: int, key: str, n: int, seconds: float, offset: int | None) -> Counter[str]:
    """Ask for the largest page from n clients for so long; return how many had which status, and the bytes."""
    until, found = time.monotonic() + seconds, Counter[str]()
    body = json.dumps({"limit": N_ROWS} if offset is None else {"limit": N_ROWS, "offset": offset}).encode()

    async def ask() -> None:
        caller = await Caller.open(port, key)
        while time.monotonic() < until:
            status, headers, answer = await caller.call("POST", "/v1/evaluations/search", body)
            found[str(status)] += 1
            found["largest page, bytes"] = max(found["largest page, bytes"], len(answer))
            if status != 200:
                await asyncio.sleep(float(headers.get("retry-after", 1)))
        caller.close()

    await asyncio.gather(*(ask() for _ in range(n)))
    return found


async def send_bodies(port: int, key: str, n: int, seconds: float, offset: int | None) -> Counter[str]:
    """Send n bodies byte by byte for so long; return how many senders had which status."""
    until, found = time.monotonic() + seconds, Counter[str]()
    head = f"POST /v1/projects HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-KEY: {key}\r\nContent-Type: application/json\r\n"

    async def send() -> None:
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(f"{head}Content-Length: 100000\r\n\r\n".encode())
                answer = asyncio.create_task(reader.read())
                while not answer.done() and time.monotonic() < until:
                    writer.write(b" ")
                    await asyncio.wait([answer], timeout=0.2)
                found[answer.result()[9:12].decode() if answer.done() else "still waits"] += 1
                answer.cancel()
                writer.close()
            await asyncio.sleep(1.0)

    await asyncio.gather(*(send() for _ in range(n)))
    return found


def run_coroutine(function: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
    """Run in this process, which is one of its own: an answer must not be found late because of other work."""
    return asyncio.run(function(*arguments))


async def fill(port: int, key: str, n_rows: int) -> None:
    """Make the evaluations of the largest page."""
    caller = await Caller.open(port, key)
    for start in range(0, n_rows, ROWS_A_CALL):
        rows = [
            {"evaluator_id": "mine", "log_id": f"{start + i}", "score": 1, "explanation": "x" * ROW_CHARS}
            for i in range(min(ROWS_A_CALL, n_rows - start))
        ]
        status, _, answer = await caller.call(
            "POST", "/v1/evaluations/batch", json.dumps({"evaluations": rows}).encode()
        )
        if status != 200 or json.loads(answer)["errors"]:
            raise RuntimeError(f"/v1/evaluations/batch: {status} {answer[:300]!r}")
    caller.close()


def held(web: psutil.Process) -> float:
    """Return what the web processes hold, in MB."""
    return sum(pss_of(process.pid) for process in (web, *web.children(recursive=True)))


def measure(options: argparse.Namespace, report: Report) -> None:
    """Start the service, and measure each flood."""
    floods = [
        Flood("search", search, options.clients, 0.5, 2.0),
        Flood("bodies", send_bodies, options.bodies, 0.99, 3.0),
    ]
    spawn = multiprocessing.get_context("spawn")
    with stack(), gunicorn() as (port, web), ProcessPoolExecutor(2, spawn) as pool:
        keys = (account_with_key("beside")[1], account_with_key("flood")[1])
        asyncio.run(fill(port, keys[1], 20 if options.tiny else N_ROWS))
        for flood in floods:
            if flood.name in options.only:
                measure_flood(flood, (port, web, pool), keys, options, report)


def measure_flood(
    flood: Flood,
    running: tuple[int, psutil.Process, ProcessPoolExecutor],
    keys: tuple[str, str],
    options: argparse.Namespace,
    report: Report,
) -> None:
    """Measure the other account alone, beside the flood, and the memory before, during and after it."""
    (port, web, pool), seconds = running, options.seconds
    beside = (run_coroutine, call_beside, port, keys[0])
    pool.submit(*beside, seconds / 4).result()  # every process is warm then
    pool.submit(run_coroutine, flood.clients, port, keys[1], 2, seconds / 4, options.offset).result()
    before = held(web)
    report.say(f"{flood.name}: alone")
    quiet = pool.submit(*beside, seconds).result()
    report.say(f"{flood.name}: beside {flood.n} clients")
    flooding = pool.submit(run_coroutine, flood.clients, port, keys[1], flood.n, seconds + 2, options.offset)
    time.sleep(1.0)
    busy = pool.submit(*beside, seconds).result()
    during, outcomes = held(web), flooding.result()
    for q in (0.5, 0.99):
        then, now = percentile(quiet, q), percentile(busy, q)
        goal = Goal(flood.goal) if q == flood.q else None
        report.add(Row(f"{flood.name}: beside the flood ÷ alone, p{q * 100:g}", "x", figure([now / then]), goal))
        report.add(Row("  inline evaluation", "ms", figure([now]), note=f"{flood.name}: alone {text_of(then)} ms"))
    report.say(f"{flood.name}: {dict(outcomes)}; memory settles")
    time.sleep(1.0 if options.tiny else REST_SECONDS)
    name = f"{flood.name}: memory of web processes, a minute after ÷ before"
    report.add(Row(name, "x", figure([held(web) / before]), Goal(GOAL_MEMORY)))
    report.add(Row("  at the end of the flood", "MB", figure([during]), note=f"before {before:.0f} MB"))
    report.details[flood.name] = {"answers": dict(outcomes), "calls": [len(quiet), len(busy)]}


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    made = parser(__doc__, deadline=300)
    made.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="which floods (default both)")
    made.add_argument("--clients", type=int, default=16, help="that search (default 16)")
    made.add_argument("--bodies", type=int, default=700, help="that come slowly (default 700)")
    made.add_argument("--offset", type=int, help="page by offset, from there")
    made.add_argument("--seconds", type=float, default=20.0, help="how long each part takes (default 20)")
    options = made.parse_args(argv)
    if options.tiny:
        options.clients, options.bodies, options.seconds = 4, 20, 1.0
    return run("shares", measure, options)


if __name__ == "__main__":
    sys.exit(main())
