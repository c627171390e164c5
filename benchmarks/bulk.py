"""POST /v1/evaluate/batch against single calls of the same samples: rows a second, and CPU time of a row.

Batches over one connection and single calls over one and over sixteen take turns, for an inline family and for one that
a small model judges on a worker of two processes. Then one batch of mixed samples, whose web processes are killed in
the middle, is sent again under its key: what it answers in the end is counted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx

from benchmarks.evaluate import BODY, row
from benchmarks.figures import Goal, Row, figure, interleaved, ratios
from benchmarks.frame import Report, parser, run
from benchmarks.slices import all_succeeded, check, requests_to, take, warm_up
from benchmarks.versions import NOW, Side, sides

ROWS = 1000
CONNECTIONS = (1, 16)
GOALS = {"inline": 5.0, "small model": 3.0}
SAMPLE = ("evaluated_model_input", "evaluated_model_output", "evaluated_model_gold_answer")
SENTENCES = ("Thank you, that was kind of you.", "The train leaves at nine.", "Nobody asked you, fool.")
TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class Taken:
    """Rows a second, and milliseconds of CPU time that all processes of the service took for a row."""

    rate: float
    cpu: float


def measure(options: argparse.Namespace, report: Report) -> None:
    """Start the service and measure."""
    with sides(["web", "workers"]) as versions:
        side = versions[NOW]
        compare(side, "inline", inline_calls(20 if options.tiny else ROWS), options, report)
        compare(side, "small model", model_calls(4 if options.tiny else options.model_rows), options, report)
        killed(side, 30 if options.tiny else ROWS, report)


def inline_calls(n: int) -> list[dict[str, Any]]:
    """Return single calls of an inline evaluator, captured, with an interval; one in four fails."""
    return [BODY | {"evaluated_model_output": "Lyon" if i % 4 == 0 else "Paris"} for i in range(n)]


def model_calls(n: int) -> list[dict[str, Any]]:
    """Return single calls of an evaluator that embeds the text: each another one, so that nothing is remembered."""
    wanted = {"evaluators": [{"evaluator": "toxicity"}], "app": "bench"}
    return [
        wanted | {"evaluated_model_output": f"{SENTENCES[i % 3]} {uuid.uuid4()} {SENTENCES[(i + 1) % 3]}"}
        for i in range(n)
    ]


def batch_of(calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the batch that stands for single calls: what differs is in the samples."""
    shared = {name: value for name, value in calls[0].items() if name not in SAMPLE}
    return shared | {"samples": [{name: call[name] for name in SAMPLE if name in call} for call in calls]}


def compare(side: Side, what: str, calls: list[dict[str, Any]], options: argparse.Namespace, report: Report) -> None:
    """Add rows a second of batches and of single calls, in turns."""
    requests = requests_to("/v1/evaluate", calls, side)
    check(side, "web", requests[:1], all_succeeded)
    warm_up(side, "web", requests, len(calls) if what == "inline" else 4)
    body = json.dumps(batch_of(calls)).encode()
    slices: dict[str, Callable[[], Taken]] = {"batch": partial(of_batch, side, body, len(calls))}
    seconds = 0.1 if options.tiny else options.seconds
    for n in CONNECTIONS:
        slices[f"c = {n}"] = partial(of_singles, side, requests, n, seconds)
    rounds = 2 if options.tiny else options.rounds
    report.say(f"{what}: {len(calls)} samples, {rounds} rounds")
    taken = interleaved(slices, rounds, until=report.share(0.4))
    report.add(*rows_of(what, len(calls), taken))


def rows_of(what: str, n: int, taken: dict[str, list[Taken]]) -> list[Row]:
    """Return the ratios, and the figures that they are made of."""
    found = []
    rates = {name: [one.rate for one in some] for name, some in taken.items()}
    for i, connections in enumerate(CONNECTIONS):
        name = f"c = {connections}"
        goal = Goal(GOALS[what], at_least=True) if i == 0 else None
        found.append(row(f"batch ÷ single calls, {what}, {name}", "", ratios(rates["batch"], rates[name]), [], goal))
    for name, some in taken.items():
        label = f"batch of {n}" if name == "batch" else f"single calls, {name}"
        found.append(row(f"  {label}, {what}", "rows/s", rates[name], []))
        found.append(row(f"  {label}, {what}", "ms CPU", [one.cpu for one in some], []))
    return found


def of_batch(side: Side, body: bytes, n: int) -> Taken:
    """Send a batch, and again under its key until nothing is pending."""
    before, began = sum(side.cpu().values()), time.perf_counter()
    send_until_done(side, body, uuid.uuid4().hex)
    seconds = time.perf_counter() - began
    return Taken(n / seconds, (sum(side.cpu().values()) - before) * 1000 / n)


def of_singles(side: Side, requests: Any, n: int, seconds: float) -> Taken:
    """Send single calls for a while."""
    found = take(side, "web", requests, n=n, seconds=seconds)
    return Taken(found.rate, found.total)


def send_until_done(side: Side, body: bytes, key: str) -> list[dict[str, Any]]:
    """Send a batch under a key until every row is done; return the rows."""
    with httpx.Client(timeout=TIMEOUT_SECONDS) as client:
        while True:
            try:
                answer = client.post(url_of(side), content=body, headers=headers_of(side, key))
            except httpx.TransportError:
                time.sleep(0.2)
                continue
            rows = answer.json().get("rows") if answer.status_code == httpx.codes.OK else None
            if rows and all(one["status"] == httpx.codes.OK for one in rows):
                found: list[dict[str, Any]] = rows
                return found
            time.sleep(float(answer.headers.get("Retry-After", "0.1")))


def url_of(side: Side) -> str:
    """Return the address."""
    return f"http://127.0.0.1:{side.ports['web']}/v1/evaluate/batch"


def headers_of(side: Side, key: str) -> dict[str, str]:
    """Return the headers of a batch that waits for workers."""
    json_type = {"Content-Type": "application/json", "Prefer": "wait=60"}
    return {"X-API-KEY": side.key, "Idempotency-Key": key, **json_type}


def killed(side: Side, n: int, report: Report) -> None:
    """Kill every web process in the middle of a mixed batch, send it again, and count what came of it."""
    report.say(f"mixed: {n} samples, killed once")
    body, key = json.dumps(mixed(n)).encode(), uuid.uuid4().hex
    began = time.perf_counter()
    n_before = rows_before_the_kill(side, body, key, n // 3)
    rows = send_until_done(side, body, key)
    seconds = time.perf_counter() - began
    n_once = len({one["answer"]["id"] for one in rows})
    report.add(
        Row(f"mixed batch of {n}, killed once", "s", figure([seconds]), note=f"{n_before} rows came before the kill"),
        Row("  requests that its samples became", "", figure([n_once]), Goal(float(n), at_least=True)),
    )


def mixed(n: int) -> dict[str, Any]:
    """Return a batch of several families; one sample in fifty is for the small model."""
    batch = batch_of(inline_calls(n))
    for i, sample in enumerate(batch["samples"]):
        if i % 50 == 49:
            sample["evaluators"] = [{"evaluator": "exact-match"}, {"evaluator": "toxicity"}]
        elif i % 5 == 0:
            sample["evaluators"] = [{"evaluator": "pii"}, {"evaluator": "exact-match"}]
    return batch


def rows_before_the_kill(side: Side, body: bytes, key: str, most: int) -> int:
    """Read so many rows, as far as they come, then kill the web processes; their parent starts others."""
    n_rows = 0
    headers = headers_of(side, key) | {"Accept": "application/x-ndjson", "Prefer": "wait=2"}
    try:
        with httpx.stream("POST", url_of(side), content=body, headers=headers, timeout=TIMEOUT_SECONDS) as answer:
            for n_rows, _ in enumerate(answer.iter_lines(), start=1):
                if n_rows == most:
                    for process in side.processes["web"].children():
                        process.kill()
    except httpx.TransportError:
        return n_rows
    return n_rows


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    options = parser(__doc__, deadline=300)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=2.0, help="length of a slice of single calls")
    options.add_argument("--model-rows", type=int, default=100, help="samples of a batch for the small model")
    return run("bulk", measure, options.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
