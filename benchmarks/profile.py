"""Where the CPU time of POST /v1/evaluate goes: by function in a web process, and in PostgreSQL.

    python -m benchmarks.profile --sampler /path/to/py-spy     16 connections
    python -m benchmarks.profile --connections 1 --top 40

Samples with `py-spy`, which is no dependency: it comes from PyPI, and has to be allowed to read other processes. Only samples
of the thread that holds the interpreter count, so a share of them is a share of the CPU time that Python takes; what
system calls take comes from the kernel's count. PostgreSQL counts by function: captures are one call of one.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil
import psycopg

from benchmarks.evaluate import BODIES
from benchmarks.frame import Report, parser, run
from benchmarks.load import Connections
from benchmarks.slices import requests_to, warm_up
from benchmarks.stack import account_with_key, gunicorn, stack
from benchmarks.versions import Side

SAMPLES_PER_SECOND = 250
WARM_UP = 1000
FUNCTIONS = "SELECT funcname, calls, self_time * 1000 FROM pg_stat_user_functions"
COMMITS = "SELECT 'commits', xact_commit, 0.0 FROM pg_stat_database WHERE datname = current_database()"


def measure(options: argparse.Namespace, report: Report) -> None:
    """Load gunicorn, sample each of its processes meanwhile, and print where the time went."""
    from evalsvc.local.embedded import postgres

    if not shutil.which(options.sampler):
        raise SystemExit(f"There is no {options.sampler!r}: `pip install py-spy`, and name it with --sampler.")
    postgres.SETTINGS["track_functions"] = "all"
    with stack() as servers, gunicorn() as (port, web), tempfile.TemporaryDirectory() as folder:
        key = account_with_key("bench")[1]
        groups = {**servers.processes(), "web": web}
        side = Side("now", {"web": port}, key, groups, servers.env["DATABASE_MIGRATION_URL"])
        requests = requests_to("/v1/evaluate", BODIES, side)
        warm_up(side, "web", requests, 20 if options.tiny else WARM_UP)
        with Connections(port, options.connections) as connections:
            connections.prime(requests)
            samplers = [sample(options, child, Path(folder)) for child in web.children()]
            time.sleep(1.0)  # until they have found the interpreter
            counted, before, kernel = counts(side.owner_url), side.cpu(), kernel_seconds(web)
            load = connections.run(requests, seconds=options.seconds)
            after, kernel = side.cpu(), kernel_seconds(web) - kernel
            time.sleep(1.5)  # a backend tells what it has counted once a second
            called = differences(counted, counts(side.owner_url))
        for sampler in samplers:
            sampler.wait(60)
        stacks = sum((read(file) for file in Path(folder).iterdir()), Counter())
    n = len(load.latencies)
    us = {name: (after[name] - before[name]) * 1e6 / n for name in after}
    print(f"{n} requests over {options.connections} connections, {dict(load.errors) or 'no errors'}; CPU us a request:")
    print(", ".join(f"{name} {value:.0f}" for name, value in us.items()), f"(web in the kernel {kernel * 1e6 / n:.0f})")
    by_function(stacks, us["web"], options.top)
    print("\nPostgreSQL, by function: us a request (wall, with waits for the disk), calls a request")
    for name, (calls, wall) in sorted(called.items(), key=lambda item: -item[1][1]):
        print(f"{wall / n:8.0f}  {calls / n:6.2f}  {name}")


def sample(options: argparse.Namespace, process: psutil.Process, folder: Path) -> subprocess.Popen[bytes]:
    """Start a sampler of one process, for as long as the load and a little longer."""
    command = [
        options.sampler,
        "record",
        "--gil",
        "--nonblocking",
        "--format",
        "raw",
        "--rate",
        str(SAMPLES_PER_SECOND),
    ]
    command += ["--function", "--duration", str(int(options.seconds) + 2), "--pid", str(process.pid)]
    out = subprocess.DEVNULL
    return subprocess.Popen([*command, "--output", str(folder / str(process.pid))], stdout=out, stderr=out)


def kernel_seconds(root: psutil.Process) -> float:
    """Return the CPU time in system calls of a process and those below it."""
    return sum(process.cpu_times().system for process in (root, *root.children(recursive=True)))


def read(file: Path) -> Counter[tuple[str, ...]]:
    """Read how often each stack was seen."""
    found: Counter[tuple[str, ...]] = Counter()
    for line in file.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(count)
    return found


def by_function(stacks: Counter[tuple[str, ...]], us: float, top: int) -> None:
    """Print functions by the time in them and below, functions and packages by the time in them alone."""
    total = max(1, stacks.total())
    below, alone, packages = Counter[str](), Counter[str](), Counter[str]()
    for frames, count in stacks.items():
        alone[frames[-1]] += count
        packages[package_of(frames[-1])] += count
        for function in set(frames):
            below[function] += count
    print(f"\n{us:.0f} us of a request are in web, seen by {total} samples.")
    for title, counted in (("in it and below", below), ("in it alone", alone), ("in the package alone", packages)):
        print(f"\nus a request, {title}:")
        for name, count in counted.most_common(top):
            print(f"{us * count / total:8.0f}  {count / total:6.1%}  {name}")


def package_of(function: str) -> str:
    """Return the package of a function, ours to its second level: `function (evalsvc/rest/bodies/parsers.py:93)`."""
    parts = function.rpartition("(")[2].partition(":")[0].split("/")
    if parts[0] in ("evalsvc", "evaluators"):
        return "/".join(parts[:2])
    return parts[0] if len(parts) > 1 else f"python's {parts[0]}"


def counts(url: str) -> dict[str, tuple[int, float]]:
    """Return how often each function was called so far and how long it took by itself, and the transactions."""
    with psycopg.connect(url, autocommit=True) as connection:
        rows = [*connection.execute(FUNCTIONS).fetchall(), *connection.execute(COMMITS).fetchall()]
    found: dict[str, tuple[int, float]] = {}
    for name, calls, us in rows:
        before = found.get(name, (0, 0.0))
        found[name] = (before[0] + calls, before[1] + float(us))
    return found


def differences(
    before: dict[str, tuple[int, float]], after: dict[str, tuple[int, float]]
) -> dict[str, tuple[int, float]]:
    """Return what was counted in between."""
    none = (0, 0.0)
    return {name: (n - before.get(name, none)[0], us - before.get(name, none)[1]) for name, (n, us) in after.items()}


def main(argv: list[str] | None = None) -> int:
    """Run it."""
    options = parser(__doc__, deadline=180)
    options.add_argument("--sampler", default="py-spy", help="the sampler's path (default py-spy)")
    options.add_argument("--connections", type=int, default=16)
    options.add_argument("--seconds", type=float, default=15.0)
    options.add_argument("--top", type=int, default=30, help="functions to print (default 30)")
    return run("profile", measure, options.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
