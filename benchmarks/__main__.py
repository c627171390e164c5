"""`make bench`: every benchmark in turn, each in a process of its own; the last line is one JSON object with all figures."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

BENCHMARKS = {
    "evaluators": ("accuracy, latency, memory and throughput of the embedded evaluators", ["--quick"]),
    "history": ("the interval of a history against arch and scipy", ["--quick"]),
    "racing": ("what each policy of a race costs, and how often it keeps the best", ["--quick"]),
    "experiments": (
        "16 configs x 400 examples through real workers, against a bare loop of the same client",
        ["--concurrency", "4", "--examples", "100"],
    ),
    "evaluate": ("POST /v1/evaluate against a view that does nothing", ["--seconds", "1.5", "--rounds", "1"]),
    "search": ("each kind of search over 10^6 evaluations, and what its indexes cost a capture", ["--rows", "100000"]),
    "latest": ("reading the newest 1000 scores of 10^4, 10^6 and 10^7", ["--rows", "10000", "1000000"]),
}


def main() -> int:
    """Run what was asked for; the exit code is that of the first benchmark that broke."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"one or more of {', '.join(BENCHMARKS)}; default: all"
    )
    parser.add_argument("--quick", action="store_true", help="shorter rounds and smaller tables")
    options = parser.parse_args()
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"no benchmark is named {', '.join(sorted(unknown))}")
    figures: dict[str, Any] = {}
    for name in options.names or BENCHMARKS:
        title, quick = BENCHMARKS[name]
        print(f"\n== {name}: {title}", flush=True)
        code, figures[name] = run([sys.executable, "-m", f"benchmarks.{name}", *(quick if options.quick else [])])
        if code:
            return code
    print(json.dumps(figures))
    return 0


def run(command: list[str]) -> tuple[int, Any]:
    """Run one benchmark, pass its lines on as they come, and keep its last one, which is JSON."""
    last = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            if last:
                print(last, end="", flush=True)
            last = line
    return process.returncode, json.loads(last) if process.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())
