"""CPU time of one verdict of each evaluator of the cpu lane, of this version and of an older one, in turns.

    python -m benchmarks.evaluators --against HEAD^       the same, after the options of that command

At 200, 2 000 and 20 000 characters. A new text is scored in every round, the same one by both versions, each of which
is a process with one thread. An evaluator that a version does not have, or that refuses the text, has no figure.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TextIO

from benchmarks.evaluate import row
from benchmarks.evaluators import PINNED, SIZES, Subject, sample_of, subjects
from benchmarks.figures import Goal, Row, interleaved
from benchmarks.frame import Report, parser, run
from benchmarks.machine import see_it_end
from benchmarks.versions import CHECKOUT, NOW, PARENT, checkout
from evaluators.base import Lane

GOAL_MS, GOAL_SIZE = 60.0, 2_000
SECONDS_TO_END = 10


@dataclass(frozen=True, slots=True)
class Scoring:
    """A version that scores in a process of its own."""

    names: tuple[str, ...]
    questions: TextIO
    answers: TextIO

    def cost(self, name: str, n_chars: int, seed: list[int]) -> float | None:
        """Return the milliseconds of scoring the next text; None where there is no score."""
        seed[0] += 1
        print(json.dumps([name, n_chars, seed[0]]), file=self.questions, flush=True)
        found: float | None = json.loads(self.answers.readline())
        return found


def cpu_subjects() -> Iterator[Subject]:
    """Every evaluator of the lane, under the profiles that `benchmarks.evaluators` measures."""
    return (subject for subject in subjects() if subject.family.lane_of(subject.settings) is Lane.CPU)


def answer() -> None:
    """Say which evaluators there are, then score what is asked for until nobody asks."""
    known = {subject.name: subject for subject in cpu_subjects()}
    for subject in known.values():
        subject.family.warm_up()
        subject.score(sample_of(SIZES[0], 0))
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        name, n_chars, seed = json.loads(line)
        print(json.dumps(cost_of(known[name], n_chars, seed)), flush=True)


def cost_of(subject: Subject, n_chars: int, seed: int) -> float | None:
    sample = sample_of(n_chars, seed)
    began = time.thread_time()
    outcome = subject.score(sample)
    return None if isinstance(outcome, str) else (time.thread_time() - began) * 1000


def measure(options: argparse.Namespace, report: Report) -> None:
    """Start both versions, and measure all sizes."""
    with scoring(options.against) as versions:
        names = [name for name in versions[NOW].names if not options.id or options.id in name]
        for index, n_chars in enumerate(options.sizes):
            until = report.share(1 / (len(options.sizes) - index))
            report.say(f"{n_chars} characters, {options.rounds} rounds")
            add_rows(versions, names, n_chars, 1 if options.tiny else options.rounds, until, report)


def add_rows(
    versions: Mapping[str, Scoring], names: Sequence[str], n_chars: int, rounds: int, until: float, report: Report
) -> None:
    """Add a row for each evaluator with texts of one size; all are measured in each round."""
    turns = {
        (version, name): partial(scored.cost, name, n_chars, [0])
        for name in names
        for version, scored in versions.items()
        if name in scored.names
    }
    taken = interleaved({f"{version} {name}": turn for (version, name), turn in turns.items()}, rounds, until=until)
    for name in names:
        now, parent = (known(taken.get(f"{version} {name}", [])) for version in (NOW, PARENT))
        report.add(row_of(name, n_chars, now, parent))


def row_of(name: str, n_chars: int, now: list[float], parent: list[float]) -> Row:
    goal = Goal(GOAL_MS) if n_chars == GOAL_SIZE else None
    return row(f"{name}, {n_chars}", "CPU ms", now, parent if len(parent) == len(now) else [], goal)


def known(costs: Sequence[float | None]) -> list[float]:
    return [cost for cost in costs if cost is not None]


@contextlib.contextmanager
def scoring(against: str) -> Iterator[dict[str, Scoring]]:
    """Start this checkout, and the commit `against` unless it is 'none'; end both with the block."""
    with contextlib.ExitStack() as exits:
        folders = {NOW: CHECKOUT}
        if against != "none":
            folders[PARENT] = exits.enter_context(checkout(against))
        yield {name: exits.enter_context(_process(folder)) for name, folder in folders.items()}


@contextlib.contextmanager
def _process(folder: Path) -> Iterator[Scoring]:
    environment = {**os.environ, **dict.fromkeys(PINNED, "1")}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.verdict_costs", "--answer"], cwd=folder, env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdin and process.stdout
    try:
        yield Scoring(tuple(json.loads(process.stdout.readline())), process.stdin, process.stdout)
    finally:
        process.stdin.close()
        see_it_end(process, [], seconds=SECONDS_TO_END)
        process.stdout.close()


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    options = parser(__doc__, deadline=540, against=True)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="CHARACTERS")
    options.add_argument("--id", metavar="TEXT", help="evaluators whose id has this in it")
    options.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args(argv)
    if chosen.answer:
        answer()
        return 0
    return run("verdict costs", measure, chosen)


if __name__ == "__main__":
    sys.exit(main())
