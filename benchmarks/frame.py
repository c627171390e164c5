"""The frame of a benchmark: options, a deadline that it keeps, the load it saw, its table, and one line of JSON.

A benchmark is a function `measure(options, report)` that adds each row as soon as it is known, since what is not known
at the deadline is lost, and a `main(argv)` that hands it and its options to `run`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from benchmarks.figures import Row, table
from benchmarks.machine import Watch, machine

# The share of its time after which a benchmark begins no further round.
ROOM = 0.85


class OutOfTime(BaseException):
    """The deadline has passed. No Exception: nothing on the way may take it for a failure of its own."""


class Report:
    """The rows so far, and when to stop: a benchmark that looks at `ends_at` ends with whole rounds."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name, self.seconds = name, seconds
        self.began = time.monotonic()
        self.ends_at = self.began + seconds
        self.rows: list[Row] = []
        self.details: dict[str, Any] = {}
        self.was_cut = False

    def add(self, *rows: Row) -> None:
        """Keep rows."""
        self.rows.extend(rows)

    def share(self, part: float = 1.0) -> float:
        """Return when the next part of what is left is over, in `time.monotonic`, with room for one more round."""
        return time.monotonic() + part * ROOM * max(0.0, self.ends_at - time.monotonic())

    def say(self, text: str) -> None:
        """Tell the progress on stderr."""
        print(f"{self.name} {time.monotonic() - self.began:4.0f} s: {text}", file=sys.stderr, flush=True)


def parser(description: str | None, *, deadline: float, against: bool = False) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--tiny", action="store_true", help="as little as shows that it runs; the figures say nothing")
    made.add_argument(
        "--deadline",
        type=float,
        default=deadline,
        metavar="SECONDS",
        help=f"end then, with what there is (default {deadline:g})",
    )
    if against:
        made.add_argument(
            "--against",
            default="HEAD^",
            metavar="REF",
            help="the commit or tag to compare with, in turns (default the parent commit); 'none' for none",
        )
    return made


def run(name: str, measure: Callable[[Any, Report], None], options: argparse.Namespace) -> int:
    """Measure, and print what was found; the last line is JSON. 0 unless something broke."""
    report, watch = Report(name, options.deadline), Watch()
    print(machine(), flush=True)
    try:
        with ending_at(options.deadline):
            measure(options, report)
    except OutOfTime:
        report.was_cut = True
    load = watch.seen()
    print(f"Meanwhile: {load}")
    if report.rows:
        print(table(report.rows))
    if report.was_cut or time.monotonic() > report.ends_at:
        report.was_cut = True
        print(f"It ended at its deadline of {options.deadline:g} s, with what it had: {len(report.rows)} rows.")
    rows = [row.as_json() for row in report.rows]
    found = {"benchmark": name, "rows": rows, "load": load.as_json(), "was_cut": report.was_cut, "tiny": options.tiny}
    print(json.dumps(found | report.details), flush=True)
    return 0


@contextlib.contextmanager
def ending_at(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the main thread after so many seconds.

    SIGTERM ends the block like Ctrl-C, so that servers are stopped and folders removed.
    """

    def late(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    def terminated(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {
        number: signal.signal(number, how) for number, how in ((signal.SIGALRM, late), (signal.SIGTERM, terminated))
    }
    timer = signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        for number, how in before.items():
            signal.signal(number, how)
