"""POST /v1/evaluate against a view that does nothing, on gunicorn as `make up` has it: requests/s, latency, CPU time.

One inline evaluator, capture all, full-history over 1000 scores. A closed loop of 1, 16 and 64 connections. Short
slices of this version, the parent and the no-op of each take turns, so each round has all of them under the same load.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from functools import partial
from typing import Any

from benchmarks.figures import Goal, Row, figure, interleaved, median_of, ratios
from benchmarks.frame import Report, parser, run
from benchmarks.slices import SECONDS, Slice, all_succeeded, check, requests_to, take, warm_up
from benchmarks.versions import NOW, PARENT, Side, sides

BODY = {
    "evaluators": [{"evaluator": "exact-match", "explain_strategy": "always"}],
    "evaluated_model_input": "What is the capital of France?",
    "evaluated_model_output": "Paris",
    "evaluated_model_gold_answer": "Paris",
    "app": "bench",
    "capture": "all",
    "confidence_interval_strategy": "full-history",
}
# One in four fails: a history of equal scores would have the cheapest of intervals.
BODIES = [BODY, BODY, BODY, BODY | {"evaluated_model_output": "Lyon"}]
HISTORY = 1000
RATIO_GOALS = {1: 0.25, 16: 0.28, 64: 0.28}
CPU_GOAL_MS = 2.0
Taken = dict[str, list[Slice]]


def measure(options: argparse.Namespace, report: Report) -> None:
    """Start the versions and measure them with each number of connections."""
    with sides(["web"], options.against) as versions:
        rows(versions, options, report)


def rows(versions: dict[str, Side], options: argparse.Namespace, report: Report) -> None:
    """Add the rows of each number of connections."""
    for side in versions.values():
        report.say(f"{side.name}: warming up")
        requests = requests_to("/v1/evaluate", BODIES, side)
        check(side, "web", requests, all_succeeded)
        warm_up(side, "web", requests, 20 if options.tiny else HISTORY)
        warm_up(side, "web", requests_to("/v1/noop", BODIES), 20 if options.tiny else HISTORY)
    rounds, seconds = (2, 0.1) if options.tiny else (options.rounds, options.seconds)
    for i, n in enumerate(options.connections):
        report.say(f"{n} connections, {rounds} rounds")
        until = report.share(1 / (len(options.connections) - i))
        taken = in_turns(versions, n, rounds, seconds, until)
        report.add(*rows_of(n, taken))
        report.details[f"c={n}"] = {name: details_of(slices) for name, slices in taken.items()}


def in_turns(versions: dict[str, Side], n: int, rounds: int, seconds: float, until: float) -> Taken:
    """Take slices of evaluate and of the no-op, of every version."""
    slices = {}
    for name, side in versions.items():
        for what, asked in (("evaluate", side), ("noop", None)):
            requests = requests_to(f"/v1/{what}", BODIES, asked)
            slices[f"{name} {what}"] = partial(take, side, "web", requests, n=n, seconds=seconds)
    return interleaved(slices, rounds, until=until)


def rows_of(n: int, taken: Taken) -> list[Row]:
    """Return the ratio to the no-op, the CPU time and the rate with n connections."""
    now, parent = (taken.get(f"{name} evaluate", []) for name in (NOW, PARENT))
    over = {name: ratios(rates(taken, name, "evaluate"), rates(taken, name, "noop")) for name in (NOW, PARENT)}
    goal = RATIO_GOALS.get(n)
    cpu_goal = Goal(CPU_GOAL_MS) if n >= 16 else None
    found = [
        row(f"/v1/evaluate ÷ no-op, c = {n}", "", over[NOW], over[PARENT], Goal(goal, at_least=True) if goal else None),
        row(f"evaluate, c = {n}", "requests/s", [s.rate for s in now], [s.rate for s in parent]),
        row(f"CPU of one evaluate, c = {n}", "ms", [s.total for s in now], [s.total for s in parent], cpu_goal),
    ]
    for group in sorted(now[0].cpu if now else ()):
        found.append(
            row(f"  of it {group}, c = {n}", "ms", [s.cpu[group] for s in now], [s.cpu[group] for s in parent])
        )
    return [*found, row(f"p99 of evaluate, c = {n}", "ms", [s.p99 for s in now], [s.p99 for s in parent])]


def row(name: str, unit: str, now: list[float], parent: list[float], goal: Goal | None = None) -> Row:
    """Make a row of values that were taken in turns."""
    change = median_of(ratios(now, parent)) if parent else None
    return Row(name, unit, figure(now), goal, figure(parent), change)


def rates(taken: Taken, name: str, what: str) -> list[float]:
    """Return the requests per second of each round."""
    return [one.rate for one in taken.get(f"{name} {what}", [])]


def details_of(slices: list[Slice]) -> dict[str, Any]:
    """Return medians for the JSON line; the client's own CPU time too, which shares the cores."""
    names = ("rate", "p50", "p99", "total", "client_cpu")
    return {name: round(statistics.median(getattr(one, name) for one in slices), 3) for name in names}


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    options = parser(__doc__, deadline=240, against=True)
    options.add_argument("--seconds", type=float, default=SECONDS, help=f"length of a slice (default {SECONDS})")
    options.add_argument("--rounds", type=int, default=16, help="rounds for each number of connections (default 16)")
    options.add_argument("--connections", type=int, nargs="+", default=[1, 16, 64])
    return run("evaluate", measure, options.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
