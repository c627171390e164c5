"""What the whole service holds in memory (PSS), by part and minute, under load of every kind; and how long it starts.

`--start N` starts and stops it N times instead. Proportional set size counts a page that n processes share as 1/n in
each, so the sum over all processes is what the machine holds.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.figures import Goal, Row, figure
from benchmarks.frame import Report, parser, run
from benchmarks.stack import copy_template
from benchmarks.stub_llm import running_stub

CHECKOUT = Path(__file__).resolve().parent.parent
TARGET_MB = 600
N_CALLERS = 6
TEXT = "Ask Jo Miller (jo@example.com, +44 20 7946 0018) about patient 4711. The library opens at nine. " * 3
INLINE = ["exact-match", "metrics", "hallucination"]
CPU = ["toxicity", "pii", "phi", "retrieval-answer-relevance", "retrieval-context-relevance"]
JUDGE = {"evaluator": "judge", "profile_inline": {"pass_criteria": "The MODEL OUTPUT names a place."}}
PARTS = (
    ("postgres", r"postgres"),
    ("valkey", r"valkey"),
    ("web", r"gunicorn"),
    ("worker", r"celery worker -Q (\w+)"),
    ("service", r"evalsvc\.preload"),
    ("supervisor", r"manage\.py"),
)


@dataclass
class Started:
    """A running service, its demo account, and how long it took."""

    process: subprocess.Popen[str]
    demo: dict[str, str]
    seconds: float


@contextlib.contextmanager
def started(home: Path) -> Iterator[Started]:
    """Start the service as `make up` does, and stop it whatever happens."""
    foreign = ("DATABASE_", "REDIS", "CELERY", "EVALSVC_READY")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    env |= {"EVALSVC_HOME": str(home), "EVALSVC_PORT": "0", "EVALSVC_RPM_LIMIT": "10000000"}
    began = time.monotonic()
    command = [sys.executable, "manage.py", "up", "--demo-env", str(home)]
    process = subprocess.Popen(command, cwd=CHECKOUT, env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = ""
        for line in process.stdout:
            address = line.split()[-1] if line.strip().startswith("address:") else address
            if line.startswith("Ready after"):
                break
        else:
            raise RuntimeError("the service did not start")
        seconds = time.monotonic() - began
        demo = json.loads((home / "demo.json").read_text()) | {"url": address}
        yield Started(process, demo, seconds)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)


def pss_by_part(root: int) -> Counter[str]:
    """Sum what each part's processes hold, in MB."""
    found: Counter[str] = Counter()
    process = psutil.Process(root)
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.Error, OSError):  # it has just ended
            found[part_of(" ".join(each.cmdline()))] += pss_of(each.pid)
    return found


def part_of(command: str) -> str:
    """Name the part that a process belongs to."""
    for name, pattern in PARTS:
        if match := re.search(pattern, command):
            return "-".join((name, *match.groups()))
    return "other"


def pss_of(pid: int) -> float:
    """Return a process' proportional set size in MB."""
    [kilobytes] = re.findall(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(kilobytes) / 1024


class Traffic:
    """Calls of every kind, from some threads, until it is told to stop."""

    def __init__(self, demo: dict[str, str], stub: str) -> None:
        self.headers, self.url = {"X-API-KEY": demo["EVALSVC_API_KEY"]}, demo["url"]
        self.statuses: Counter[int] = Counter()
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self._go, args=(number,)) for number in range(N_CALLERS)]
        with self._client() as client:
            body = {"name": "stub", "base_url": stub, "model": "stub-judge-pass", "key": "sk-stub"}
            client.post("/v1/connections", json=body).raise_for_status()
            self._start_experiment(client)

    def _client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=self.headers, timeout=60, trust_env=False)

    def _start_experiment(self, client: httpx.Client) -> None:
        examples = [{"id": str(n), "input": f"{n} + {n}", "expected": str(2 * n)} for n in range(300)]
        made = client.post("/v1/datasets", json={"dataset_name": "sums", "examples": examples}).raise_for_status()
        metrics = [{"name": name, "evaluator": name} for name in ("exact-match", "toxicity")]
        plan = {"dataset_id": made.json()["dataset_id"], "metrics": metrics, "start": True}
        parameters = {"connection": "stub", "model": "stub-echo", "prompt": "{{input}}"}
        configs = [{"name": f"c{n}", "kind": "chat", "parameters": parameters} for n in range(4)]
        client.post("/v1/experiments", json={"name": "load", "plan": plan, "configs": configs}).raise_for_status()

    def _go(self, number: int) -> None:
        bodies = [_ask(*INLINE), _ask(*CPU), _ask(*INLINE), {**_ask(), "evaluators": [JUDGE]}]
        with self._client() as client:
            for turn in itertools.count(number):
                if self.ended.is_set():
                    return
                with contextlib.suppress(httpx.TransportError):
                    if turn % 5 == 4:
                        answer = client.post("/v1/evaluations/search", json={"limit": 50})
                    else:
                        answer = client.post("/v1/evaluate", json=bodies[turn % 5])
                    self.statuses[answer.status_code] += 1

    @contextlib.contextmanager
    def flowing(self) -> Iterator[None]:
        """Call for as long as the context lasts."""
        for thread in self.threads:
            thread.start()
        try:
            yield
        finally:
            self.ended.set()
            for thread in self.threads:
                thread.join(70)


def _ask(*evaluators: str) -> dict[str, Any]:
    texts = {"evaluated_model_input": "Where is the library?", "evaluated_model_retrieved_context": [TEXT]}
    answers = {"evaluated_model_output": TEXT, "evaluated_model_gold_answer": TEXT, "capture": "all"}
    return {"evaluators": [{"evaluator": name} for name in evaluators], **texts, **answers}


def measure(options: argparse.Namespace, report: Report) -> None:
    """Measure the start so often, or the memory for so long."""
    with tempfile.TemporaryDirectory(prefix="evalsvc-memory-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        home = Path(folder) / "home"
        if options.start:
            measure_start(home, options.start, report)
        else:
            measure_memory(home, 0.1 if options.tiny else options.minutes, report)


def measure_start(home: Path, times: int, report: Report) -> None:
    """Start once to install the database, then so often again."""
    with started(home) as first:
        report.add(Row("first start, with all migrations", "s", figure([first.seconds])))
    seconds = []
    for _ in range(times):
        with started(home) as again:
            seconds.append(again.seconds)
            report.say(f"ready after {again.seconds:.1f} s")
    report.add(Row("start to first verdict", "s", figure(seconds), goal=Goal(5), note="20 on a busy machine"))


def measure_memory(home: Path, minutes: float, report: Report) -> None:
    """Hold the load for so long, and look each minute."""
    pause, totals = min(60.0, minutes * 60 / 4), []
    home.mkdir()
    copy_template(home)
    with running_stub(latency_ms=50) as stub, started(home) as service:
        idle = pss_by_part(service.process.pid)
        report.add(Row("idle", "MB", figure([idle.total()])))
        traffic = Traffic(service.demo, stub.base_url)
        with traffic.flowing():
            for _ in range(round(minutes * 60 / pause)):
                time.sleep(pause)
                parts = pss_by_part(service.process.pid)
                totals.append(parts.total())
                listed = ", ".join(f"{name} {size:.0f}" for name, size in sorted(parts.items()))
                report.say(f"{parts.total():.0f} MB: {listed}")
        report.add(*(Row(f"under load: {name}", "MB", figure([size])) for name, size in sorted(parts.items())))
    report.add(Row("under load: whole stack", "MB", figure([totals[-1]]), goal=Goal(TARGET_MB)))
    half = totals[len(totals) // 2 - 1 :] if len(totals) > 1 else totals
    report.add(Row("growth in the last half", "%", figure([100 * (half[-1] / half[0] - 1)]), goal=Goal(2)))
    report.details |= {"answers": dict(traffic.statuses), "median": statistics.median(totals)}
    report.say(f"answers by status: {dict(traffic.statuses)}")


def main(argv: list[str] | None = None) -> int:
    """Measure memory, or the start."""
    options = parser(__doc__, deadline=900)
    options.add_argument("--minutes", type=float, default=10, help="how long the load lasts (default 10)")
    options.add_argument("--start", type=int, default=0, metavar="N", help="start and stop N times instead")
    return run("memory", measure, options.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
