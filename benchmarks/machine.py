"""The machine a benchmark ran on, and what else the machine did meanwhile."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

PRESSURE, CPUINFO = Path("/proc/pressure/cpu"), Path("/proc/cpuinfo")


@functools.cache
def machine() -> str:
    """Name cores, processor, memory, system, Python and its speed in a line, which is the same in all of a run."""
    memory = psutil.virtual_memory().total / 2**30
    model = platform.processor() or platform.machine()
    if CPUINFO.exists():
        models = [line.partition(":")[2].strip() for line in CPUINFO.read_text().splitlines() if "model name" in line]
        model = models[0] if models else model
    system = f"{platform.system()} {platform.release()}"
    version = f"Python {platform.python_version()}, {loop_ms():.0f} ms for a loop of a million"
    return f"{os.cpu_count()} cores, {model}, {memory:.0f} GiB, {system}, {version}"


def loop_ms() -> float:
    """Return how long a fixed loop takes at its best: the same machine may be half as fast another day."""
    took = []
    for _ in range(3):
        began, total = time.process_time(), 0
        for i in range(1_000_000):
            total += i * i
        took.append(time.process_time() - began)
    return min(took) * 1000


def see_it_end(process: subprocess.Popen[str], below: Sequence[psutil.Process], *, seconds: float) -> None:
    """Wait for a process that was told to end, and end it and what it has started when it does not."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for left in psutil.wait_procs(below, timeout=5)[1]:
        with contextlib.suppress(psutil.NoSuchProcess):
            left.kill()


@dataclass(frozen=True)
class Load:
    """What the machine did in a span of time, in cores where nothing else is said."""

    seconds: float
    load_average: float
    ours: float
    others: float
    stolen: float
    # Share of the time in which somebody waited for a core: by PostgreSQL and gunicorn themselves, too.
    pressure: float | None

    def __str__(self) -> str:
        waited = "" if self.pressure is None else f", somebody waited for a core {self.pressure:.0%} of the time"
        return (
            f"load average {self.load_average:.1f}; cores in use: {self.ours:.2f} by the benchmark and its servers,"
            f" {self.others:.2f} by others, {self.stolen:.2f} stolen{waited}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return the figures, rounded."""
        return {name: value if value is None else round(value, 3) for name, value in asdict(self).items()}


class Watch:
    """Counts from when it is made; `seen` says what has happened since."""

    def __init__(self) -> None:
        self.began = _counters()

    def seen(self) -> Load:
        """Return what the machine did since this watch began."""
        then, now = self.began, _counters()
        wall, busy, ours, stolen = (now[name] - then[name] for name in ("wall", "busy", "ours", "stolen"))
        wall = max(wall, 1e-9)
        pressure = (now["waited"] - then["waited"]) / wall if PRESSURE.exists() else None
        others = max(0.0, busy - ours)
        return Load(wall, os.getloadavg()[0], ours / wall, others / wall, stolen / wall, pressure)


def _counters() -> dict[str, float]:
    times = psutil.cpu_times()
    stolen = getattr(times, "steal", 0.0)
    idle = times.idle + getattr(times, "iowait", 0.0)
    return {
        "wall": time.monotonic(),
        # `user` has `guest` in it already.
        "busy": sum(times) - idle - stolen - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0),
        "stolen": stolen,
        "ours": cpu_seconds(psutil.Process()),
        "waited": _waited_seconds(),
    }


def _waited_seconds() -> float:
    if not PRESSURE.exists():
        return 0.0
    some = PRESSURE.read_text().splitlines()[0]
    return float(some.rpartition("total=")[2]) / 1e6


def cpu_seconds(*roots: psutil.Process) -> float:
    """Return the CPU time of process trees, those that have ended included."""
    total = 0.0
    for root in roots:
        for process in [root, *_below(root)]:
            try:
                # The last two are of children that have ended: whoever still runs is in the list.
                total += sum(process.cpu_times()[:4])
            except psutil.NoSuchProcess:
                continue
    return total


def _below(root: psutil.Process) -> list[psutil.Process]:
    try:
        return list(root.children(recursive=True))
    except psutil.NoSuchProcess:
        return []
