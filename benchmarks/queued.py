"""Five evaluators through Celery against the same five inline: CPU time of a request on top, in all processes together.

Web, PostgreSQL, Valkey and a worker of two processes; capture all. Slices of both ways, of this version and the parent,
take turns.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

from benchmarks.evaluate import BODY, row
from benchmarks.figures import Goal, differences, interleaved
from benchmarks.frame import Report, parser, run
from benchmarks.slices import Slice, all_succeeded, check, requests_to, take, warm_up
from benchmarks.versions import NOW, PARENT, Side, sides

FIVE = ("exact-match", "exact-match-normalised", "exact-match-contains", "exact-match-numeric", "pii")
# A gold answer without a number is an error of the numeric comparison, and no score.
TEXTS = {"evaluated_model_output": "Paris 75001", "evaluated_model_gold_answer": "Paris 75001"}
GOAL_MS = 5.0
# A request through a queue takes longer, so that its slices have to.
SECONDS = {"web": 0.6, "queued": 1.5}


def bodies() -> list[dict[str, object]]:
    """Return one call of the five, without an interval: both ways would compute the same."""
    wanted = [{"evaluator": name, "explain_strategy": "never"} for name in FIVE]
    return [BODY | TEXTS | {"evaluators": wanted, "confidence_interval_strategy": "none"}]


def measure(options: argparse.Namespace, report: Report) -> None:
    """Start the versions, both ways of each, and measure."""
    with sides(["web", "queued"], options.against) as versions:
        rows(versions, options, report)


def rows(versions: dict[str, Side], options: argparse.Namespace, report: Report) -> None:
    """Add what the queue costs on top, and how many requests a second go through it."""
    slices = {}
    for name, side in versions.items():
        requests = requests_to("/v1/evaluate", bodies(), side)
        for part, seconds in SECONDS.items():
            report.say(f"{name}: warming up, {part}")
            check(side, part, requests, all_succeeded)
            warm_up(side, part, requests, 8 if options.tiny else 100)
            length = 0.1 if options.tiny else seconds
            slices[f"{name} {part}"] = partial(take, side, part, requests, n=options.connections, seconds=length)
    rounds = 2 if options.tiny else options.rounds
    report.say(f"{options.connections} connections, {rounds} rounds")
    taken = interleaved(slices, rounds, until=report.share())
    top = {name: on_top(taken, name) for name in (NOW, PARENT)}
    queued = {name: taken.get(f"{name} queued", []) for name in (NOW, PARENT)}
    report.add(
        row("five evaluators through Celery, on top of inline", "ms CPU", top[NOW], top[PARENT], Goal(GOAL_MS)),
        *(
            row(f"  {group}, in all", "ms CPU", *([one.cpu[group] for one in queued[name]] for name in (NOW, PARENT)))
            for group in ("queued", "workers", "postgres", "valkey")
        ),
        row(
            "five evaluators through Celery", "requests/s", *([s.rate for s in queued[name]] for name in (NOW, PARENT))
        ),
    )


def on_top(taken: dict[str, list[Slice]], name: str) -> list[float]:
    """Return what a request through the queue takes more, round by round."""
    queued, inline = (taken.get(f"{name} {part}", []) for part in ("queued", "web"))
    return differences([one.total for one in queued], [one.total for one in inline])


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    options = parser(__doc__, deadline=150, against=True)
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--connections", type=int, default=16)
    return run("queued", measure, options.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
