"""Hundreds of callers that wait for a slow judge: answers a second, nothing lost or double, and who else is served.

    python -m benchmarks.waiting                            500 callers, a judge that takes 2 s
    python -m benchmarks.waiting --judge mixed              among judges that hang, say 429 and die in the middle
    python -m benchmarks.waiting --accounts 2000:5          one account with 2000 waiting, another with 5

Each caller posts one evaluation; where the answer is `pending` it asks for it as `Retry-After` says, until its verdict is
there, and begins anew. Beside them others ask for an inline evaluation, for `/readyz` and for a page of the admin, as
they did before anybody waited. At the end every call at the judge is held against the verdicts, the bill and the history.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from benchmarks.beside import asker, beside
from benchmarks.figures import Goal, Row, figure, text_of
from benchmarks.frame import Report, parser, run
from benchmarks.http_caller import Caller
from benchmarks.machine import cpu_seconds
from benchmarks.stack import account_with_key, celery, gunicorn, stack
from benchmarks.stub_llm import RunningStub, running_stub

BAD = {"hang": "stub-hang", "429": "stub-judge-pass:429-30", "dies": "stub-cut"}


@dataclass
class Account:
    """Who waits: an account, and its profile for each judge."""

    name: str
    key: str
    profiles: list[str]
    n_callers: int
    began: int = 0
    asked: int = 0
    ended: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)


@dataclass
class Running:
    """The service, and what it is loaded with."""

    port: int
    stub: RunningStub
    processes: dict[str, Any]
    asker: ProcessPoolExecutor
    accounts: list[Account] = field(default_factory=list)
    beside: str = ""


@contextlib.contextmanager
def service(options: argparse.Namespace) -> Iterator[Running]:
    """Start all of it: servers, web, a judge worker, and the judge."""
    with contextlib.ExitStack() as exits:
        servers = exits.enter_context(stack())
        stub = exits.enter_context(running_stub(latency_ms=options.seconds_a_call * 1000))
        allowed = {"EVALSVC_OUTBOUND_ALLOW": "127.0.0.0/8"}
        port, web = exits.enter_context(gunicorn(**allowed))
        worker = exits.enter_context(celery("judge", pool="solo", concurrency=1, **allowed))
        processes = {**servers.processes(), "web": web, "judge worker": worker}
        yield Running(port, stub, processes, exits.enter_context(asker()))


async def set_up(running: Running, options: argparse.Namespace) -> None:
    """Make the accounts, their connections and profiles."""
    for i, n in enumerate(options.accounts):
        _, key = await asyncio.to_thread(account_with_key, f"waiting {i}")
        judges = ["stub-judge-pass"]
        if options.judge != "slow" and i == 0:
            judges += [BAD[name] for name in (BAD if options.judge == "mixed" else [options.judge])]
        made = [await profile(running, key, judge) for judge in judges]
        running.accounts.append(Account(f"account {i + 1}, {n} callers", key, made, n))
    _, running.beside = await asyncio.to_thread(account_with_key, "beside")


async def profile(running: Running, key: str, model: str) -> str:
    """Make a connection to a model with a key of its own, and a profile that asks it; return the profile's name."""
    name = f"p-{uuid.uuid4().hex[:8]}"
    caller = await Caller.open(running.port, key)
    prices = {"price_input_per_million": 1000.0, "price_output_per_million": 1000.0}
    connection = {"name": name, "base_url": running.stub.base_url, "model": model, "key": name, "timeout_seconds": 60}
    config = {"pass_criteria": "It is polite.", "connection": name}
    criteria = {"evaluator_family": "judge", "name": name, "config": config}
    for path, body in (("/v1/connections", connection | prices), ("/v1/evaluator-criteria", criteria)):
        status, _, answer = await caller.call("POST", path, json.dumps(body).encode())
        if status not in (200, 201):
            raise RuntimeError(f"{path}: {status} {answer[:300]!r}")
    caller.close()
    return name


async def wait_for_one(account: Account, caller: Caller, profile: str) -> str:
    """Post one evaluation and come back until it has its verdict; return what came of it."""
    wanted = [{"evaluator": "judge", "criteria": profile}]
    body = {"evaluators": wanted, "output": uuid.uuid4().hex, "app": "waiting"}
    status, headers, answer = await caller.call("POST", "/v1/evaluate", json.dumps(body).encode())
    while True:
        account.asked += 1
        if status not in (200, 202):
            return str(status)
        found = json.loads(answer)
        outcome = found["results"][0]["status"]
        if outcome != "pending":
            return str(outcome)
        await asyncio.sleep(float(headers.get("retry-after", 1)))
        status, headers, answer = await caller.call("GET", f"/v1/evaluate/{found['id']}")


async def keep_waiting(running: Running, account: Account, number: int, until: float, spread: float) -> None:
    """Be one caller: evaluate, wait, and again, until the time is up.

    Callers come within `spread` seconds: all at once, they would come back all at once, with every answer.
    """
    await asyncio.sleep(spread * number / account.n_callers)
    caller = await Caller.open(running.port, account.key)
    profile = account.profiles[number % len(account.profiles)]
    while time.monotonic() < until:
        account.began += 1
        began = time.perf_counter()
        outcome = await wait_for_one(account, caller, profile)
        account.outcomes[outcome] += 1
        if outcome == "success":
            account.seconds.append(time.perf_counter() - began)
            account.ended.append(time.monotonic())
    caller.close()


async def beside_them(running: Running, seconds: float) -> dict[str, list[float]]:
    """Ask for an inline evaluation, the health page and a page of the admin for so long."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(running.asker, beside, running.port, running.beside, seconds)


@dataclass
class Found:
    """What a run has measured."""

    quiet: dict[str, list[float]]
    busy: dict[str, list[float]]
    n: int
    """Answers while all were there."""
    seconds: float
    cpu: dict[str, float]


async def loaded(running: Running, options: argparse.Namespace, report: Report) -> Found:
    """Ask beside, first alone and then beside all who wait."""
    await set_up(running, options)
    await beside_them(running, options.seconds / 8)  # every process is warm then
    report.say("quiet")
    quiet = await beside_them(running, options.seconds / 2)
    report.say(f"{sum(options.accounts)} callers wait")
    running.stub.reset()
    # Until all have come and the first ones have come again: 500 new connections are no wait for a judge.
    came = time.monotonic() + 3 * options.seconds_a_call
    until = came + options.seconds
    waiting = [
        asyncio.create_task(keep_waiting(running, account, number, until, options.seconds_a_call))
        for account in running.accounts
        for number in range(account.n_callers)
    ]
    await asyncio.sleep(came - time.monotonic())
    before = used(running)
    busy = await beside_them(running, options.seconds)
    after = used(running)
    report.say("no more come; the last ones wait")
    await asyncio.wait(waiting, timeout=max(1.0, report.ends_at - time.monotonic() - 15))
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    n = sum(came < ended <= until for account in running.accounts for ended in account.ended)
    return Found(quiet, busy, n, options.seconds, {name: after[name] - before[name] for name in after})


def used(running: Running) -> dict[str, float]:
    """Return the CPU time of each part of the service."""
    parts = {name: cpu_seconds(process) for name, process in running.processes.items()}
    return {**parts, "all callers": time.process_time()}


def measure(options: argparse.Namespace, report: Report) -> None:
    """Start everything, load it, and add what was found."""
    with service(options) as running:
        found = asyncio.run(loaded(running, options, report))
        add_rows(running, found, report)
        add_books(running, report)


def add_rows(running: Running, found: Found, report: Report) -> None:
    """Add rates, what the others met meanwhile, and what an answer cost."""
    report.add(Row("judged evaluations", "answers/s", figure([found.n / found.seconds]), Goal(200, at_least=True)))
    for account in running.accounts:
        if account.seconds:
            report.add(Row(f"  waited, {account.name}", "s", figure(account.seconds)))
        each = account.asked / max(account.outcomes.total(), 1)
        report.add(Row(f"  requests an answer, {account.name}", "", figure([each])))
    for name in found.busy:
        quiet, busy = found.quiet[name], found.busy[name]
        for q in (0.5, 0.99):
            then, now = percentile(quiet, q), percentile(busy, q)
            goal = Goal(3.0) if (name, q) == ("inline evaluate", 0.99) else None
            report.add(Row(f"{name} beside them ÷ quiet, p{q * 100:g}", "x", figure([now / then]), goal))
            goal = Goal(100.0) if (name, q) == ("/readyz", 0.99) else None
            note = f"quiet {text_of(then)} ms"
            report.add(Row(f"  {name} beside them, p{q * 100:g}", "ms", figure([now]), goal, note=note))
    for name, seconds in found.cpu.items() if found.n else ():
        report.add(Row(f"CPU of one answer: {name}", "ms CPU", figure([seconds * 1000 / found.n])))


def percentile(values: list[float], q: float) -> float:
    """Return the value below which so many lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else float("nan")


def add_books(running: Running, report: Report) -> None:
    """Hold what was answered against the database and against the calls that the judge has counted."""
    from django.db import connections

    with connections["system"].cursor() as cursor:
        cursor.execute(
            "SELECT count(*), count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'success'),"
            " coalesce(sum((extra->'judge'->>'calls')::int) FILTER (WHERE error_code IS DISTINCT FROM 'rate_limited'), 0),"
            " coalesce(max(n_attempts), 0) FROM evaluations_evaluation WHERE lane = 'judge'"
        )
        n, n_pending, n_success, n_billed, most_attempts = cursor.fetchone()
        cursor.execute("SELECT count(*), count(DISTINCT source_id) FROM evaluations_historyscore WHERE app = 'waiting'")
        n_scores, n_sources = cursor.fetchone()
    # What is refused with 429 costs nothing, and is asked again: it is on no bill.
    n_calls = sum(n for model, n in running.stub.calls()["by_model"].items() if model != BAD["429"])
    n_answered = sum(account.outcomes.total() for account in running.accounts)
    report.add(
        Row("lost: accepted and without an answer", "", figure([sum(a.began for a in running.accounts) - n_answered])),
        Row("double: scores beyond one a success", "", figure([n_scores - min(n_success, n_sources)])),
        Row("calls at the judge beyond those billed", "", figure([n_calls - n_billed])),
    )
    report.details |= {
        "outcomes": {account.name: dict(account.outcomes) for account in running.accounts},
        "evaluations": n,
        "pending": n_pending,
        "successes": n_success,
        "scores": n_scores,
        "calls": n_calls,
        "billed": n_billed,
        "most_attempts": most_attempts,
    }


def accounts_of(text: str) -> list[int]:
    """Read how many callers each account has."""
    return [int(part) for part in text.split(":")]


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    made = parser(__doc__, deadline=120)
    made.add_argument("--accounts", type=accounts_of, default=[500], metavar="N:M", help="callers of each account")
    made.add_argument(
        "--judge", choices=["slow", *BAD, "mixed"], default="slow", help="who else is asked, in account 1"
    )
    made.add_argument("--seconds", type=float, default=30.0, help="how long callers come")
    made.add_argument("--seconds-a-call", type=float, default=2.0, help="how long the judge takes")
    options = made.parse_args(argv)
    if options.tiny:
        options.accounts = [min(n, 4) for n in options.accounts]
        options.seconds, options.seconds_a_call = 2.0, 0.2
    return run("waiting", measure, options)


if __name__ == "__main__":
    sys.exit(main())
