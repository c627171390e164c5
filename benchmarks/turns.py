"""Run a benchmark in a process of its own: in this checkout and in the older one, in turns."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from benchmarks.catalogue import Benchmark
from benchmarks.figures import Figure, Row, figure, median_of, ratios
from benchmarks.machine import see_it_end
from benchmarks.versions import CHECKOUT, NOW, PARENT

# What one gets to stop its servers in, on a busy machine.
SECONDS_TO_END = 120


class Broken(Exception):
    """A benchmark ended with an error, or not at all."""


@dataclass(frozen=True)
class Outcome:
    """What a benchmark found: its rows, and its JSON of each run."""

    rows: list[Row]
    found: dict[str, Any] = field(default_factory=dict)
    is_broken: bool = False


def take_turns(
    name: str, benchmark: Benchmark, options: argparse.Namespace, folder: Path | None, seconds: float
) -> Outcome:
    """Run it here, and in the older checkout unless it starts that itself; raise Broken when it breaks here."""
    folders = {NOW: CHECKOUT}
    if folder is not None and not benchmark.only_now and not benchmark.takes_turns_itself:
        folders[PARENT] = folder
    ends_at, turns = time.monotonic() + seconds, 1 if options.tiny else benchmark.turns
    runs: dict[str, list[Any]] = {NOW: [], PARENT: []}
    for turn in range(turns):
        for i, (version, where) in enumerate(folders.items()):
            share = (ends_at - time.monotonic()) / (len(folders) * (turns - turn) - i)
            if len(folders) > 1:
                print(f"-- {version}, {turn + 1} of {turns}", flush=True)
            try:
                runs[version].append(run(command(name, benchmark, options, share), where, share))
            except Broken as exc:
                if version == NOW:
                    raise
                print(f"The older version cannot run this: {exc}", flush=True)
                del folders[PARENT]
                break
    return Outcome(merged(*([rows_of(one) for one in runs[version]] for version in (NOW, PARENT))), runs)


def command(name: str, benchmark: Benchmark, options: argparse.Namespace, seconds: float) -> list[str]:
    """Write the command of a benchmark."""
    made = [
        sys.executable,
        "-m",
        f"benchmarks.{benchmark.module or name}",
        *(benchmark.tiny if options.tiny else benchmark.arguments),
    ]
    if benchmark.is_framed:
        made += ["--deadline", f"{seconds:.0f}"]
    if benchmark.takes_turns_itself:
        made += ["--against", options.against]
    return made


def run(command: list[str], where: Path, seconds: float) -> Any:
    """Run one benchmark, pass its lines on as they come, and return its last one, which is JSON."""
    last = ""
    with subprocess.Popen(command, cwd=where, stdout=subprocess.PIPE, text=True) as process:
        # One that keeps no deadline itself is ended as by Ctrl-C: it stops its servers.
        late = threading.Timer(seconds + SECONDS_TO_END, process.send_signal, [signal.SIGINT])
        late.start()
        try:
            for line in process.stdout or ():
                if last:
                    print(last, end="", flush=True)
                last = line
            process.wait()
        finally:
            late.cancel()
            end(process)
    if process.returncode:
        raise Broken(f"exit code {process.returncode} after at most {seconds:.0f} s")
    try:
        return json.loads(last)
    except json.JSONDecodeError as exc:
        raise Broken(f"its last line is no JSON: {last[:100]!r}") from exc


def end(process: subprocess.Popen[str]) -> None:
    """Leave nothing of a benchmark behind, whatever has happened to us."""
    if process.poll() is not None:
        return
    below = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    see_it_end(process, below, seconds=SECONDS_TO_END)


def rows_of(found: Any) -> list[Row]:
    """Read the rows of a benchmark's JSON; those of an older form have none."""
    rows = found.get("rows", []) if isinstance(found, dict) else []
    return [Row.from_json(row) for row in rows if isinstance(row, dict) and "verdict" in row]


def merged(now: list[list[Row]], parent: list[list[Row]]) -> list[Row]:
    """Put the runs of a benchmark, and those of the older version, into one row for each name."""
    names = list(dict.fromkeys(row.name for rows in now for row in rows))
    return [_merged(_all(now, name), _all(parent, name)) for name in names]


def _all(runs: list[list[Row]], name: str) -> list[Row]:
    return [row for rows in runs for row in rows if row.name == name]


def _merged(found: list[Row], older: list[Row]) -> Row:
    first, (now, parent) = found[0], ([row for row in rows if row.now is not None] for rows in (found, older))
    if not parent:
        return replace(first, now=_over(now))
    change = None
    if len(now) == len(parent):
        change = median_of(ratios([_median(row) for row in now], [_median(row) for row in parent]))
    return replace(first, now=_over(now), parent=_over(parent), change=change)


def _over(rows: list[Row]) -> Figure | None:
    """One run has the spread of its own slices; several, that between them."""
    return rows[0].now if len(rows) == 1 else figure(_median(row) for row in rows)


def _median(row: Row) -> float:
    if row.now is None:
        raise ValueError(f"{row.name} was not measured")
    return row.now.median
