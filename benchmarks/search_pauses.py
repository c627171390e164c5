"""How long the garbage collector stops a worker of the real server while it answers pages of 1000 evaluations."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks.search_pages import EVALUATIONS
from benchmarks.search_rows import say
from benchmarks.stack import gunicorn


def pauses(caller: Any, n: int) -> dict[str, dict[str, float]]:
    """Serve pages with and without imports kept from the collector; return pauses and answers, in milliseconds."""
    say("pauses: gunicorn with imports kept from the collector, and not")
    found = {name: served(caller, n, of_all) for name, of_all in (("kept", "0"), ("not", "1"))}
    for name, row in found.items():
        print(f"imports {name:<4} kept from the collector: {json.dumps(row)}")
    return found


def served(caller: Any, n: int, of_all: str) -> dict[str, float]:
    """Return what one server does: full collections, the longest of them, and how long answers took."""
    with tempfile.TemporaryDirectory(prefix="evalsvc-bench-") as folder:
        file = Path(folder) / "pauses"
        file.touch()
        os.environ |= {"PAUSES_FILE": str(file), "PAUSES_OF_ALL": of_all}
        with gunicorn("benchmarks.pauses_conf") as (port, _process):
            for _ in range(5):
                ask(port, caller)
            n_before = len(file.read_text().split())
            times = [ask(port, caller) for _ in range(n)]
            stops = [float(line) for line in file.read_text().split()[n_before:]]
    row = {"n_pages": n, "n_full": len(stops), "longest_ms": max(stops, default=0.0), "sum_ms": sum(stops)}
    row |= {"p50_ms": statistics.median(times), "p99_ms": sorted(times)[int(n * 0.99)], "max_ms": max(times)}
    return {name: round(value, 1) for name, value in row.items()}


def ask(port: int, caller: Any) -> float:
    """Return how many milliseconds a page of 1000 takes over HTTP."""
    connection = HTTPConnection("127.0.0.1", port)
    started = time.perf_counter()
    headers = {"X-API-KEY": caller.key, "Content-Type": "application/json"}
    connection.request("POST", EVALUATIONS, json.dumps({"limit": 1000}), headers)
    answer = connection.getresponse()
    answer.read()
    elapsed = (time.perf_counter() - started) * 1000
    connection.close()
    if answer.status != 200:
        raise SystemExit(f"gunicorn answered {answer.status}")
    return elapsed
