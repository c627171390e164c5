"""POST /v1/evaluations/batch, 1000 finished scores a call over one connection: rows a second, and CPU time of a row."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

from benchmarks.evaluate import row
from benchmarks.figures import Goal, interleaved
from benchmarks.frame import Report, parser, run
from benchmarks.slices import check, requests_to, take, warm_up
from benchmarks.versions import NOW, PARENT, Side, sides

ROWS = 1000
# What it was when the goal was set: it shall stay.
GOAL_ROWS = 4952
SECONDS = 1.0


def body(n_rows: int) -> dict[str, Any]:
    """Return a call with so many scores of ten histories."""
    scores = [
        {
            "evaluator_id": "tone",
            "log_id": f"{i:032x}",
            "criteria": f"profile-{i % 10}",
            "score": i % 7 / 6,
            "pass": i % 7 > 2,
        }
        for i in range(n_rows)
    ]
    return {"evaluations": scores}


def measure(options: argparse.Namespace, report: Report) -> None:
    """Start the versions and measure them in turns."""
    with sides(["web"], options.against) as versions:
        rows(versions, options, report)


def rows(versions: dict[str, Side], options: argparse.Namespace, report: Report) -> None:
    """Add rows a second and the CPU time of a thousand."""
    n_rows, rounds, seconds = (10, 2, 0.1) if options.tiny else (ROWS, options.rounds, SECONDS)
    slices = {}
    for name, side in versions.items():
        requests = requests_to("/v1/evaluations/batch", [body(n_rows)], side)
        check(side, "web", requests, lambda answer: len(answer["evaluations"]) == n_rows and not answer["errors"])
        warm_up(side, "web", requests, 4)
        slices[name] = partial(take, side, "web", requests, n=1, seconds=seconds)
    report.say(f"{rounds} rounds")
    taken = interleaved(slices, rounds, until=report.share())
    now, parent = (taken.get(name, []) for name in (NOW, PARENT))
    goal = Goal(GOAL_ROWS, at_least=True)
    report.add(
        row(
            "batch of finished scores",
            "rows/s",
            [s.rate * n_rows for s in now],
            [s.rate * n_rows for s in parent],
            goal,
        ),
        row("  CPU of a row", "ms", [s.total / n_rows for s in now], [s.total / n_rows for s in parent]),
    )


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    options = parser(__doc__, deadline=90, against=True)
    options.add_argument("--rounds", type=int, default=12)
    return run("batch", measure, options.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
