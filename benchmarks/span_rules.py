"""Rules over the spans of an application: what they cost the one who sends, the one beside, and how soon a score is there.

    python -m benchmarks.span_rules                    5 rules of an inline evaluator, a backfill over 10^6 stored spans
    python -m benchmarks.span_rules --tiny             as little as shows that it runs; the figures say nothing

One web process, one worker of the queue of rules with one process, and this process in the place of beat. Spans are sent
with active rules and with paused ones in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from benchmarks.beside import asker, beside
from benchmarks.figures import Goal, Row, figure, median_of, ratios
from benchmarks.frame import Report, parser, run
from benchmarks.http_caller import Caller
from benchmarks.machine import cpu_seconds
from benchmarks.stack import account_with_key, celery, gunicorn, stack

RULES, A_CALL, PER_SECOND = 5, 5, 50
SWEEP_SECONDS = 2.0
"""How often beat looks for rules with work."""
COPY = """
INSERT INTO telemetry_span ({columns})
SELECT {values} FROM telemetry_span s, generate_series(1, %s) AS g WHERE s.account_id = %s AND s.id = (
  SELECT min(id) FROM telemetry_span WHERE account_id = %s)
"""
DELAYS = """
SELECT ((r.request_id >> 22) - (s.id >> 22)) / 1000.0
FROM rules_rulespan r JOIN telemetry_span s USING (account_id, trace_id, span_id)
WHERE r.account_id = %s AND r.request_id IS NOT NULL AND s.id > %s
"""


@dataclass
class Running:
    """The service, the account whose spans are scored, and the one beside it."""

    port: int
    worker: Any
    account_id: int
    key: str
    beside_key: str
    asker: ProcessPoolExecutor
    rules: list[str]


@contextlib.contextmanager
def service() -> Iterator[Running]:
    """Start the servers, the web process, and a worker of the queue of rules."""
    with contextlib.ExitStack() as exits:
        exits.enter_context(stack())
        port, _ = exits.enter_context(gunicorn())
        worker = exits.enter_context(celery("experiments", concurrency=1))
        account_id, key = account_with_key("spans")
        _, beside_key = account_with_key("beside")
        yield Running(port, worker, account_id, key, beside_key, exits.enter_context(asker()), [])


def span(number: int) -> dict[str, Any]:
    """Return a span of an LLM as OpenTelemetry GenAI writes it."""
    began = time.time_ns()

    def text(role: str, content: str) -> str:
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": content}]}])

    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "gen_ai.input.messages": text("user", "How do I reach you? " * 8),
        "gen_ai.output.messages": text("assistant", f"Write to jo{number}@example.com. " * 12),
    }
    return {
        "traceId": uuid.uuid4().hex,
        "spanId": uuid.uuid4().hex[:16],
        "name": "chat",
        "kind": 3,
        "startTimeUnixNano": str(began - 10**9),
        "endTimeUnixNano": str(began),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }


def body(number: int) -> bytes:
    spans = [span(number + i) for i in range(A_CALL)]
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}).encode()


async def call(caller: Caller, method: str, path: str, content: Any = None) -> Any:
    """Call the API; raise RuntimeError for any answer but a success."""
    raw = content if isinstance(content, bytes) else b"" if content is None else json.dumps(content).encode()
    status, _, answer = await caller.call(method, path, raw)
    if status >= 300:
        raise RuntimeError(f"{method} {path}: {status} {answer[:300]!r}")
    return json.loads(answer)


async def send_spans(running: Running, caller: Caller, seconds: float) -> list[float]:
    """Send `PER_SECOND` spans a second; return what each call took, in milliseconds."""
    took, began, n = [], time.monotonic(), 0
    while time.monotonic() - began < seconds:
        content = body(n)
        at = time.perf_counter()
        await call(caller, "POST", "/v1/traces", content)
        took.append((time.perf_counter() - at) * 1000)
        n += A_CALL
        await asyncio.sleep(max(0.0, began + n / PER_SECOND - time.monotonic()))
    return took


async def sweep(until: asyncio.Event) -> None:
    """Do what beat does: enqueue the rules that have work."""
    from evalsvc.rules.tasks import sweep_rules

    while not until.is_set():
        await asyncio.to_thread(sweep_rules)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(until.wait(), SWEEP_SECONDS)


@dataclass
class Turns:
    """What the calls of a turn took, with active rules and with paused ones, and what those beside took meanwhile."""

    ingest: dict[str, list[list[float]]]
    beside: dict[str, list[float]]


async def take_turns(running: Running, report: Report, seconds: float, n_turns: int) -> Turns:
    """Send spans with paused rules and active ones in turns."""
    caller = await Caller.open(running.port, running.key)
    turns = Turns({"paused": [], "active": []}, {"paused": [], "active": []})
    finish = asyncio.Event()
    sweeping = asyncio.create_task(sweep(finish))
    for i in range(n_turns):
        for state in ("paused", "active") if i % 2 == 0 else ("active", "paused"):
            for rule in running.rules:
                await call(caller, "PATCH", f"/v1/rules/{rule}", {"state": state})
            loop = asyncio.get_running_loop()
            asked = loop.run_in_executor(running.asker, beside, running.port, running.beside_key, seconds)
            turns.ingest[state].append(await send_spans(running, caller, seconds))
            turns.beside[state] += (await asked)["inline evaluate"]
            report.say(f"turn {i + 1} of {n_turns}, rules {state}")
            # What is left of an active turn is scored before the next one.
            await asyncio.sleep(2 * SWEEP_SECONDS if state == "active" else 0.0)
    finish.set()
    await sweeping
    caller.close()
    return turns


async def create_rules(running: Running, state: str) -> None:
    caller = await Caller.open(running.port, running.key)
    for i in range(RULES):
        content = {"name": f"rule {i}", "filter": {"kind": "llm"}, "evaluators": [{"evaluator": "pii"}], "state": state}
        running.rules.append((await call(caller, "POST", "/v1/rules", content))["rule"]["id"])
    caller.close()


def copy_spans(account_id: int, n: int) -> None:
    """Copy the account's first span, as spans of the year before, each in a trace of its own."""
    from django.db import connections

    from evalsvc.telemetry.models import Span
    from evalsvc.tenancy.scope import SYSTEM

    names = [field.column for field in Span._meta.concrete_fields]
    moment = "s.{} - interval '300 days' + g * interval '1 second'"
    other = {
        "id": "s.id - 2000000000000 + g",
        "trace_id": "md5(g::text)",
        "span_id": "left(md5(g::text || 's'), 16)",
        "started_at": moment.format("started_at"),
        "ended_at": moment.format("ended_at"),
    }
    values = ", ".join(other.get(name, f"s.{name}") for name in names)
    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(COPY.format(columns=", ".join(names), values=values), [n, account_id, account_id])
        cursor.execute("ANALYZE telemetry_span")


async def measure_backfill(running: Running, report: Report, n: int, seconds: float) -> float:
    """Return how many (span, rule) pairs a second of the worker's CPU were scored while backfills ran."""
    from evalsvc.rules.models import RuleSpan

    caller = await Caller.open(running.port, running.key)
    spans = {"since": "2020-01-01T00:00:00Z", "until": "2030-01-01T00:00:00Z"}
    for rule in running.rules:
        await call(caller, "POST", f"/v1/rules/{rule}/backfill", spans)
    caller.close()
    finish = asyncio.Event()
    sweeping = asyncio.create_task(sweep(finish))
    rows = RuleSpan.objects.using("system").filter(account_id=running.account_id)
    before, cpu, began = await asyncio.to_thread(rows.count), cpu_seconds(running.worker), time.monotonic()
    while time.monotonic() - began < seconds:
        await asyncio.sleep(min(5.0, seconds))
        n_scored = await asyncio.to_thread(rows.count) - before
        report.say(f"{n_scored} of {n * len(running.rules)} scored")
        if n_scored >= n * len(running.rules):
            break
    took = time.monotonic() - began
    n_scored, spent = await asyncio.to_thread(rows.count) - before, cpu_seconds(running.worker) - cpu
    finish.set()
    await sweeping
    report.details["backfill"] = {"scored": n_scored, "seconds": took, "worker CPU seconds": spent}
    return n_scored / took


def read_delays(account_id: int) -> list[float]:
    """Return the seconds between the arrival of each scored span and its evaluation."""
    from django.db import connections

    from evalsvc.tenancy.scope import SYSTEM

    with connections[SYSTEM].cursor() as cursor:
        cursor.execute(DELAYS, [account_id, 0])
        return sorted(float(delay) for (delay,) in cursor.fetchall())


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measure(options: argparse.Namespace, report: Report) -> None:
    seconds, n_turns, n_stored = (4.0, 1, 2_000) if options.tiny else (30.0, 4, options.spans)
    with service() as running:
        asyncio.run(create_rules(running, "paused"))
        turns = asyncio.run(take_turns(running, report, seconds, n_turns))
        medians = {state: [percentile(took, 0.5) for took in found] for state, found in turns.ingest.items()}
        name = "spans, 50 a second in calls of 5: p50 with 5 rules ÷ with paused ones"
        report.add(Row(name, "x", median_of(ratios(medians["active"], medians["paused"])), Goal(1.10)))
        delays = read_delays(running.account_id)
        report.add(
            Row(f"arrival to verdict, p95 of {len(delays)}", "s", figure([percentile(delays, 0.95)]), Goal(10.0))
        )
        late = percentile(turns.beside["active"], 0.99) / percentile(turns.beside["paused"], 0.99)
        name = "another account's inline evaluate beside them: p99 ÷ with paused ones"
        report.add(Row(name, "x", figure([late]), Goal(2.0)))
        copy_spans(running.account_id, n_stored)
        rate = asyncio.run(measure_backfill(running, report, n_stored, 8.0 if options.tiny else 120.0))
        name = f"backfill over {n_stored} stored spans, 5 rules of one process: span and rule"
        report.add(Row(name, "1/s", figure([rate]), Goal(200.0, at_least=True)))


def main(argv: list[str] | None = None) -> int:
    options = parser(__doc__, deadline=900)
    options.add_argument("--spans", type=int, default=1_000_000, help="stored spans before the backfill")
    return run("span_rules", measure, options.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
