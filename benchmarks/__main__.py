"""`make bench`: what the service holds and what each thing costs, now and in the parent commit, in one table.

    make bench                                      all of the table, in a quarter of an hour
    make bench ARGS="--only evaluate batch"         some of it
    make bench ARGS="--against v0.4.0 --json f"     against a tag, with all figures in a file
    make bench ARGS="search latest"                 others, by name

Each benchmark is a process of its own and ends at its deadline with what it has. Nothing is asserted: the exit code is
1 when one broke, and 0 else, whatever the figures are.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.catalogue import BENCHMARKS, Benchmark
from benchmarks.figures import Row, table
from benchmarks.frame import OutOfTime, ending_at
from benchmarks.machine import Watch, machine
from benchmarks.turns import Broken, Outcome, take_turns
from benchmarks.versions import NoSuchVersion, checkout, name_of

SECONDS = 900.0
# Each benchmark keeps its part of the deadline; one that cannot be ended is given up after so many seconds more.
PATIENCE = 300.0


def main(argv: list[str] | None = None) -> int:
    """Run what was asked for; 1 when a benchmark broke."""
    options = options_of(argv)
    # Started in the background of a shell, this and its children would not hear of an interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    watch, began = Watch(), time.monotonic()
    outcomes: dict[str, Outcome] = {}
    print(machine())
    with contextlib.suppress(OutOfTime), ending_at(options.deadline + PATIENCE), older(options) as folder:
        for i, name in enumerate(options.names):
            left = options.deadline - (time.monotonic() - began)
            if left <= 0:
                break
            seconds = left * share_of(options.names[i:])
            title = f"{i + 1} of {len(options.names)}, {name}: {BENCHMARKS[name].title}"
            print(f"\n== {title}; at most {seconds:.0f} s", flush=True)
            outcomes[name] = attempt(name, BENCHMARKS[name], options, folder, seconds)
    rows = [row for outcome in outcomes.values() for row in outcome.rows]
    left_out = [name for name in options.names if name not in outcomes]
    report(options, rows, left_out, watch, time.monotonic() - began)
    if options.json:
        found = {"machine": machine(), "load": watch.seen().as_json(), "against": options.against_name}
        found |= {"tiny": options.tiny, "rows": [row.as_json() for row in rows], "left_out": left_out}
        found["benchmarks"] = {name: outcome.found for name, outcome in outcomes.items()}
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(any(outcome.is_broken for outcome in outcomes.values()))


def share_of(names: list[str]) -> float:
    """Return what share of the time left the first of these gets; what one leaves over goes to the others."""
    return BENCHMARKS[names[0]].seconds / sum(BENCHMARKS[name].seconds for name in names)


def options_of(argv: list[str] | None) -> argparse.Namespace:
    """Read the options; names that nobody has are refused before anything starts."""
    made = argparse.ArgumentParser(
        prog="benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    listed = "; ".join(f"{name}: {one.title}" for name, one in BENCHMARKS.items())
    made.add_argument("names", nargs="*", metavar="name", help=f"what to run. {listed}".replace("%", "%%"))
    made.add_argument("--only", nargs="+", default=[], metavar="name", help="the same, as an option")
    made.add_argument("--against", default="HEAD^", metavar="REF", help="the older version; 'none' for none")
    made.add_argument("--json", type=Path, metavar="FILE", help="write rows, load and all details there")
    made.add_argument("--tiny", action="store_true", help="as little as shows that all run; the figures say nothing")
    made.add_argument(
        "--deadline", type=float, default=SECONDS, metavar="SECONDS", help=f"for all (default {SECONDS:g})"
    )
    options = made.parse_args(argv)
    options.names = [*options.names, *options.only] or [name for name, one in BENCHMARKS.items() if one.is_in_table]
    if unknown := set(options.names) - set(BENCHMARKS):
        made.error(f"no benchmark is named {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    options.against_name = None
    return options


@contextlib.contextmanager
def older(options: argparse.Namespace) -> Iterator[Path | None]:
    """Unpack the older version, for benchmarks that run once in each; None when there is none."""
    if options.against == "none":
        yield None
        return
    try:
        options.against_name = name_of(options.against)
    except NoSuchVersion as exc:
        print(f"Without an older version, since {exc}.")
        options.against = "none"
        yield None
        return
    print(f"Parent: {options.against_name}")
    with checkout(options.against) as folder:
        yield folder


def attempt(
    name: str, benchmark: Benchmark, options: argparse.Namespace, folder: Path | None, seconds: float
) -> Outcome:
    """Run one benchmark; one that breaks says so, and the others still run."""
    try:
        return take_turns(name, benchmark, options, folder, seconds)
    except Broken as exc:
        print(f"{name} broke: {exc}", flush=True)
        return Outcome([Row(name, "", None, note=f"broke: {exc}")], {}, is_broken=True)


def report(options: argparse.Namespace, rows: list[Row], left_out: list[str], watch: Watch, seconds: float) -> None:
    """Print the table, and what the machine did meanwhile."""
    print(
        f"\n{machine()}\nMeanwhile: {watch.seen()}\nParent: {options.against_name or 'none'}; {seconds:.0f} s in all."
    )
    print("Medians, and between which values four of five slices lie; of the change, where its median may well be.\n")
    print(table(rows))
    if left_out:
        print(f"\nNo time was left for {', '.join(left_out)}.")


if __name__ == "__main__":
    sys.exit(main())
