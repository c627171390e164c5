"""One account's costly patterns beside another's toxicity: what the other waits, and what becomes of the attack.

The attacker always has four requests in flight, each of 50 patterns that backtrack over 479 000 characters: more than the
cpu lane has processes. The other asks for one verdict after the other, before and meanwhile. With `--chars N` the attacker
asks for the toxicity of so many characters instead, which takes a worker seconds and a web process nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

from benchmarks.figures import Goal, Row, figure, text_of
from benchmarks.frame import Report, parser, run
from benchmarks.http_caller import Caller
from benchmarks.stack import account_with_key, celery, gunicorn, stack
from benchmarks.waiting import percentile

N_ATTACKS = 4
SLOW = r"\pL{1,200}.{0,200}\pN"
CHECKS = {"type": "all", "checks": [{"type": "regex", "pattern": f"{SLOW}{n}"} for n in range(50)]}
TEXT = ("some words of a text, " * 22_000)[:479_000]
TONE = {"evaluators": [{"evaluator": "toxicity"}], "output": "You are very kind.", "app": "beside"}


@dataclass
class Found:
    """What a run has measured: milliseconds of the other's verdicts, and how the attacks ended."""

    quiet: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)


async def verdicts(port: int, key: str, seconds: float, took: list[float]) -> None:
    """Ask for one verdict after the other, and note how long each took."""
    caller, until = await Caller.open(port, key), time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        status, found = await asked(caller, TONE)
        if status != "success":
            raise RuntimeError(f"toxicity: {status} {found[:300]!r}")
        took.append((time.perf_counter() - began) * 1000)
    caller.close()


async def attacks(port: int, key: str, until: float, chars: int | None, outcomes: Counter[str]) -> None:
    """Send one costly request after the other."""
    caller, number = await Caller.open(port, key), 0
    text = TEXT if chars is None else TEXT[:chars]
    evaluator = {"evaluator": "custom", "profile_inline": CHECKS} if chars is None else {"evaluator": "toxicity"}
    while time.monotonic() < until:
        number += 1
        body = {"evaluators": [evaluator], "output": f"{number} {text}", "capture": "none"}
        status, found = await asked(caller, body)
        outcomes[json.loads(found)["results"][0]["error_code"] or status] += 1
    caller.close()


async def asked(caller: Caller, body: dict[str, object]) -> tuple[str, bytes]:
    """Post an evaluation and come back until it has its verdict; return its status, or that of a refusal, and the answer."""
    status, headers, answer = await caller.call("POST", "/v1/evaluate", json.dumps(body).encode())
    while status in (200, 202):
        found = json.loads(answer)
        outcome = str(found["results"][0]["status"])
        if outcome != "pending":
            return outcome, answer
        await asyncio.sleep(float(headers.get("retry-after", 1)))
        status, headers, answer = await caller.call("GET", f"/v1/evaluate/{found['id']}")
    return str(status), answer


async def loaded(port: int, keys: tuple[str, str], options: argparse.Namespace, report: Report) -> Found:
    """Measure the other account alone, and then beside the attacker."""
    found = Found()
    await verdicts(port, keys[0], options.seconds / 4, [])  # every process is warm then
    report.say("alone")
    await verdicts(port, keys[0], options.seconds, found.quiet)
    report.say(f"beside {options.attacks} attacks")
    until = time.monotonic() + options.seconds
    attack = partial(attacks, port, keys[1], until, options.chars, found.outcomes)
    tasks = [asyncio.create_task(attack()) for _ in range(options.attacks)]
    await asyncio.sleep(min(1.0, options.seconds / 4))  # they have begun
    await verdicts(port, keys[0], options.seconds, found.busy)
    await asyncio.wait(tasks, timeout=max(1.0, report.ends_at - time.monotonic() - 5))
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    return found


def measure(options: argparse.Namespace, report: Report) -> None:
    """Start everything, and add what was found."""
    limits = {"EVALSVC_COMPUTE_SECONDS": "1"} if options.tiny else {}
    with stack(), gunicorn() as (port, _), celery("cpu", **limits):
        keys = (account_with_key("beside")[1], account_with_key("attacker")[1])
        add_rows(asyncio.run(loaded(port, keys, options, report)), report)


def add_rows(found: Found, report: Report) -> None:
    """Add what the other account met, and how the attacks ended."""
    for q in (0.5, 0.99):
        then, now = percentile(found.quiet, q), percentile(found.busy, q)
        goal = Goal(2.0) if q == 0.99 else None
        report.add(Row(f"toxicity beside an attack ÷ alone, p{q * 100:g}", "x", figure([now / then]), goal))
        note = f"alone {text_of(then)} ms"
        report.add(Row(f"  toxicity beside an attack, p{q * 100:g}", "ms", figure([now]), note=note))
    refused = found.outcomes["input_too_long"] / max(1, found.outcomes.total())
    report.add(Row("attacks that end in `input_too_long`", "of all", figure([refused])))
    report.details |= {"outcomes": dict(found.outcomes), "verdicts": [len(found.quiet), len(found.busy)]}


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    made = parser(__doc__, deadline=150)
    made.add_argument("--seconds", type=float, default=30.0, help="how long each part takes")
    made.add_argument("--attacks", type=int, default=N_ATTACKS, help=f"requests in flight (default {N_ATTACKS})")
    made.add_argument("--chars", type=int, help="ask for the toxicity of so many characters (up to 479000)")
    options = made.parse_args(argv)
    if options.tiny:
        options.seconds = 1.0
    return run("attack", measure, options)


if __name__ == "__main__":
    sys.exit(main())
