"""The headline of online aggregation, scaled: 16 configs x 400 examples through a stub endpoint and real workers.

Wall clock against a bare loop of the same client at the same concurrency, in turns, and the CPU time of workers and
PostgreSQL, which says more on a busy machine (its load is printed); the same with `race_default`;
queries that were still answered after a decision; how fast a stop takes effect; and the recount of the books.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
from celery import current_app

from benchmarks.figures import Goal, Row, figure, interleaved
from benchmarks.frame import Report, parser, run
from benchmarks.stack import CHECKOUT, Stack, cpu_seconds, stack
from benchmarks.stub_llm import RunningStub, running_stub
from benchmarks.stub_tasks import accuracy_of, seeded_task
from evalsvc import env

WALL_GOAL, STOP_GOAL_MS = 1.15, 50.0
N_CONFIGS = 16
LOWEST, HIGHEST = 0.45, 0.80
MICRO_BATCH = 10
# As long as it can take on a busy machine: then something hangs, and the end of the workers' log says what.
SECONDS_TO_START, SECONDS_TO_RUN = 120.0, 600.0
LOG_LINES = 20
# How many schedulers there are, and how many unit runners in each. A parent may have the names of before.
VARIABLES = ("EVALSVC_EXPERIMENT_SCHEDULERS", "EVALSVC_EXPERIMENT_UNIT_RUNNERS")
if not hasattr(env, "RENAMED"):
    VARIABLES = ("EVALSVC_EXPERIMENT_PUMPS", "EVALSVC_EXPERIMENT_SLOTS")


def measure(options: argparse.Namespace, report: Report) -> None:
    """Let bare loop and experiments take turns at each concurrency; then time stops."""
    os.environ |= {"EVALSVC_OUTBOUND_ALLOW": "127.0.0.0/8", "EVALSVC_ALLOWED_HOSTS": "testserver"}
    with stack() as servers, running_stub(latency_ms=options.latency_ms) as stub:
        bench = Bench(servers, stub, options.examples, options.latency_ms)
        for i, n in enumerate(options.concurrency):
            ways: dict[str, Callable[[], Any]] = {"bare": partial(bench.bare_loop, n)}
            ways |= {policy: partial(bench.experiment, n, policy) for policy in options.policies}
            report.say(f"{n} at once, {options.rounds} rounds of {', '.join(ways)}")
            taken = interleaved(ways, options.rounds, until=report.share(1 / (len(options.concurrency) + 1 - i)))
            for policy in options.policies:
                runs = compared(taken[policy], taken["bare"], bench.n_queries)
                report.details.setdefault("runs", []).extend(runs)
                report.add(*rows_of(n, policy, runs))
        report.say("stops")
        times = bench.stop_latencies(max(options.concurrency), options.stops)
    report.add(Row("stop, beyond one query", "ms", figure(times), Goal(STOP_GOAL_MS)))
    print_runs(report.details["runs"])


def compared(runs: list[dict[str, Any]], bare: list[float], n_queries: int) -> list[dict[str, Any]]:
    """Hold each run against the bare loop of its round; a race asks fewer queries, which a loop would do in less time."""
    found = []
    for run_, seconds in zip(runs, bare, strict=True):
        expected = seconds * run_["queries"] / n_queries
        found.append(run_ | {"bare_s": round(expected, 2), "wall_over_bare": round(run_["wall_s"] / expected, 3)})
    return found


def rows_of(concurrency: int, policy: str, runs: list[dict[str, Any]]) -> list[Row]:
    """Return the wall time over that of the bare loop, and the CPU time of a query."""
    name = f"{policy}, {concurrency} at once"
    wrong = [run_ for run_ in runs if not run_["recount_equal"] or run_["most_wasted_by_one"] > run_["waste_limit"]]
    note = f"{len(wrong)} of {len(runs)} runs differ from their recount, or wasted too much" if wrong else ""
    walls = figure(run_["wall_over_bare"] for run_ in runs)
    return [
        Row(f"experiment ÷ bare loop, {name}", "x wall", walls, Goal(WALL_GOAL), note=note),
        Row(f"  CPU of a query, {name}", "ms", figure(run_["cpu_ms_per_query"] for run_ in runs)),
    ]


def wait_until(is_true: Callable[[], object], seconds: float, *, every: float, what: str) -> None:
    """Wait until something is true; raise TimeoutError with the end of the workers' logs when it takes too long."""
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            logs = sorted(Path(os.environ["EVALSVC_HOME"]).glob("worker-*.log"), key=lambda log: log.stat().st_mtime)
            lines = logs[-1].read_text(errors="replace").splitlines()[-LOG_LINES:] if logs else []
            raise TimeoutError("\n".join([f"{what}: not within {seconds:.0f} s.", *lines]))
        time.sleep(every)


def shape_of(concurrency: int) -> tuple[int, int]:
    """Return schedulers and unit runners of each that make this concurrency: two processes where they help."""
    return (2, concurrency // 2) if concurrency >= 8 and concurrency % 2 == 0 else (1, concurrency)


@contextlib.contextmanager
def workers(concurrency: int) -> Iterator[psutil.Process]:
    """Run the experiments worker and the clock's work as `make up` does, with so many queries at once."""
    schedulers, runners = shape_of(concurrency)
    variables = os.environ | {name: str(n) for name, n in zip(VARIABLES, (schedulers, runners), strict=True)}
    log = Path(os.environ["EVALSVC_HOME"]) / f"worker-{uuid.uuid4().hex[:6]}.log"
    command = [sys.executable, "-m", "celery", "-A", "evalsvc.celery", "worker", "-Q", "experiments", "-P", "prefork"]
    command += [
        "-c",
        str(schedulers),
        "-n",
        f"bench-{uuid.uuid4().hex[:6]}@bench",
        "--without-mingle",
        "--without-gossip",
    ]
    with log.open("wb") as out:
        process = subprocess.Popen([*command, "-l", "INFO"], cwd=CHECKOUT, env=variables, stdout=out, stderr=out)
        try:
            wait_until(lambda: b" ready." in log.read_bytes(), SECONDS_TO_START, every=0.1, what="the workers start")
            warm_up(schedulers)
            yield psutil.Process(process.pid)
        finally:
            process.terminate()
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def warm_up(schedulers: int) -> None:
    """Wait until every process has loaded its models and runs a scheduler: a service that has been up for a minute."""
    from evalsvc.experiments import queueing

    def is_warm() -> bool:
        current_app.send_task(queueing.TASK, queue="experiments", expires=1)
        return queueing.count_alive() >= schedulers

    wait_until(is_warm, SECONDS_TO_START, every=1.0, what="the workers take work")


class Bench:
    """An account with a connection to the stub and a dataset of known answers."""

    def __init__(self, servers: Stack, stub: RunningStub, n_examples: int, latency_ms: float) -> None:
        from tests.conftest import new_caller

        self.postgres = psutil.Process(int((servers.postgres.data / "postmaster.pid").read_text().split()[0]))
        self.stub, self.n_examples, self.latency = stub, n_examples, latency_ms / 1000
        self.caller = new_caller()
        self.task = seeded_task(n_examples, 1)
        step = (HIGHEST - LOWEST) / (N_CONFIGS - 1)
        self.models = [f"stub-accuracy-{LOWEST + step * i:.3f}-{i:02d}" for i in range(N_CONFIGS)]
        examples = [{"id": row["sid"], "input": row["task_input"], "expected": row["gold_answer"]} for row in self.task]
        self.dataset = self._post("/v1/datasets", {"dataset_name": "bench", "examples": examples})["dataset_id"]
        connection = {"name": "stub", "base_url": stub.base_url, "model": "stub-echo", "key": "sk-bench"}
        self._post("/v1/connections", connection)

    @property
    def n_queries(self) -> int:
        """All configs on all examples."""
        return N_CONFIGS * self.n_examples

    def _post(self, path: str, body: Any = None) -> Any:
        answer = self.caller.post(path, body)
        assert answer.status_code in (200, 201), answer.content
        return answer.json()

    def bare_loop(self, concurrency: int) -> float:
        """Ask every query with the same client from so many threads, and nothing else; return the seconds."""
        complete = imported("evalsvc.judges.calls.chat", "evalsvc.judges.chat").complete
        from evalsvc.judges.selectors import connection_facts

        facts = connection_facts(account_id=self.caller.account.pk, ref="stub")
        queries = [(model, row["task_input"]) for row in self.task for model in self.models]

        def ask(query: tuple[str, str]) -> str:
            model, text = query
            return answered(complete(facts, messages=[{"role": "user", "content": text}], model=model)).text

        with ThreadPoolExecutor(concurrency) as pool:
            list(pool.map(ask, queries[:100]))
            began = time.perf_counter()
            for _ in pool.map(ask, queries):
                pass
            return time.perf_counter() - began

    def run(self, concurrency: int, create: Callable[[], str]) -> tuple[str, float, float]:
        """Make an experiment and run it with real workers; return its id, and the seconds that it took, by wall and CPU."""
        from evalsvc.experiments.models import ExperimentPlan

        with workers(concurrency) as worker:
            id = create()
            self.stub.reset()
            cpu = cpu_seconds(worker, self.postgres)
            began = time.perf_counter()
            self._post(f"/v1/experiments/{id}/start")
            plans = ExperimentPlan.objects.using("system").filter(experiment_id=id)
            states = plans.values_list("state", flat=True)
            wait_until(lambda: states[0] != "running", SECONDS_TO_RUN, every=0.02, what="the experiment ends")
            return id, time.perf_counter() - began, cpu_seconds(worker, self.postgres) - cpu

    def experiment(self, concurrency: int, policy: str) -> dict[str, Any]:
        """Run the experiment with real workers."""
        id, wall, cpu = self.run(concurrency, lambda: self._create(policy))
        calls = self.stub.calls()["total"]
        return {
            "concurrency": concurrency,
            "policy": policy,
            "wall_s": round(wall, 2),
            "wall_over_ideal": round(wall / (calls * self.latency / concurrency), 3),
            "queries": calls,
            "cpu_ms_per_query": round(1000 * cpu / calls, 2),
            "load": round(os.getloadavg()[0], 1),
            **self._outcome(id, concurrency),
        }

    def _create(self, policy: str) -> str:
        parameters = {"connection": "stub", "prompt": "{{input}}"}
        body = {
            "name": f"bench {policy}",
            "plan": {
                "dataset_id": self.dataset,
                "metrics": [{"name": "accuracy", "evaluator": "exact-match"}],
                "policy": policy,
            },
            "configs": [{"kind": "chat", "parameters": parameters, "search": {"model": self.models}}],
        }
        return self._post("/v1/experiments", body)["experiment"]["id"]

    def _outcome(self, id: str, concurrency: int) -> dict[str, Any]:
        view = self.caller.get(f"/v1/experiments/{id}/live").json()
        books = self.caller.get(f"/v1/experiments/{id}/recount").json()
        leader = next(config for config in view["configs"] if config["id"] == view["leader"])
        model = leader["name"].removeprefix("model=")
        best = max(accuracy_of(model, self.task) for model in self.models)
        return {
            **wasted(int(id)),
            "waste_limit": concurrency * MICRO_BATCH,
            "kept_best": accuracy_of(model, self.task) == best,
            "recount_equal": books["equal"],
        }

    def stop_latencies(self, concurrency: int, n: int) -> list[float]:
        """Stop so many running configs one by one; return the milliseconds beyond one query until none is held."""
        from evalsvc.experiments.models import Config, WorkUnit

        times = []
        with workers(concurrency):
            id = self._create("manual")
            self._post(f"/v1/experiments/{id}/start")
            ahead = Config.objects.using("system").filter(experiment_id=id, watermark__gt=20)
            wait_until(lambda: ahead.count() >= 4, SECONDS_TO_RUN, every=0.02, what="the experiment gets going")
            for config_id in Config.objects.using("system").filter(experiment_id=id).values_list("id", flat=True)[:n]:
                began = time.perf_counter()
                self._post(f"/v1/experiments/{id}/configs/{config_id}/stop", {})
                held = WorkUnit.objects.using("system").filter(config_id=config_id, state="leased")
                wait_until(partial(_is_empty, held), SECONDS_TO_RUN, every=0.001, what="a stop takes effect")
                times.append((time.perf_counter() - began) * 1000)
            self._post(f"/v1/experiments/{id}/configs/stop", {"config_ids": "all"})
        return [round(ms - self.latency * 1000, 1) for ms in times]


def answered(call: Any) -> Any:
    """Wait for a call as a thread of a worker does; in older versions it has its answer already."""
    if not inspect.isawaitable(call):
        return call
    return imported("evalsvc.judges.calls.loop", "evalsvc.judges.loop").run(call)


def imported(module: str, before: str) -> Any:
    """Import a module of the version that is measured; an older one has it under another name."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        return import_module(before)


def _is_empty(rows: Any) -> bool:
    return not rows.exists()


def wasted(experiment_id: int) -> dict[str, int]:
    """Count the outputs of dropped configs that were recorded after the decision against them."""
    from evalsvc.experiments.models import Decision, Output

    late = [
        Output.objects.using("system").filter(config_id=row.config_id, created_at__gt=row.created_at).count()
        for row in Decision.objects.using("system").filter(experiment_id=experiment_id)
    ]
    return {"decisions": len(late), "waste": sum(late), "most_wasted_by_one": max(late, default=0)}


def print_runs(rows: list[dict[str, Any]]) -> None:
    """Print each run."""
    print(
        "at once  policy         wall s   bare s  wall/bare  wall/ideal  cpu ms  load  queries  decisions  waste  most (limit)  best  recount"
    )
    for row in rows:
        print(
            f"{row['concurrency']:7d}  {row['policy']:13s} {row['wall_s']:7.1f}  {row['bare_s']:7.1f}"
            f"  {row['wall_over_bare']:9.2f}  {row['wall_over_ideal']:10.2f}  {row['cpu_ms_per_query']:6.2f}  {row['load']:4.1f}  {row['queries']:7d}  {row['decisions']:9d}"
            f"  {row['waste']:5d}  {row['most_wasted_by_one']:4d} ({row['waste_limit']:3d})"
            f"   {'kept' if row['kept_best'] else 'LOST'}  {'equal' if row['recount_equal'] else 'DIFFERS'}"
        )


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    made = parser(__doc__, deadline=900)
    made.add_argument("--concurrency", type=int, nargs="+", default=[1, 4, 8])
    made.add_argument("--latency-ms", type=float, default=10.0)
    made.add_argument("--examples", type=int, default=400)
    made.add_argument("--policies", nargs="+", default=["manual", "race_default"])
    made.add_argument("--rounds", type=int, default=3, help="of bare loop and experiment in turns (default 3)")
    made.add_argument("--stops", type=int, default=8, help="configs that are stopped one by one (default 8)")
    options = made.parse_args(argv)
    if options.tiny:
        options.concurrency, options.examples, options.policies, options.rounds, options.stops = (
            [4],
            40,
            ["manual"],
            1,
            2,
        )
    return run("experiments", measure, options)


if __name__ == "__main__":
    sys.exit(main())
