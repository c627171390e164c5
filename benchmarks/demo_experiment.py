"""`make demo-experiment`: configs of known accuracies race each other, and the leaderboard moves while they do.

Everything it needs is its own and gone at the end: PostgreSQL and Valkey, web and worker, and a stub in place of an LLM.
No key, no account, no network. Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.stack import copy_template
from benchmarks.stub_llm import running_stub
from benchmarks.stub_tasks import accuracy_of, seeded_task
from evalsvc.local.embedded.throwaway import throwaway
from evalsvc.local.supervisor import roster
from evalsvc.local.supervisor.backends import child_environment
from evalsvc.local.supervisor.supervisor import ServiceFailed, StopRequested, Supervisor

CHECKOUT = Path(__file__).resolve().parent.parent
LOWEST, HIGHEST = 0.45, 0.80
POLICIES = ("manual", "race_safe", "race_default", "race_fast", "halving")
POLL_SECONDS, LINE_SECONDS = 0.3, 2.0
BAR = 24
INTERRUPTED = 130


@dataclass(frozen=True)
class Service:
    """A running service of our own."""

    url: str
    account: dict[str, str]
    supervisor: Supervisor
    env: Mapping[str, str]
    """What its processes run in."""

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call the API; a refusal ends the demo with its sentence."""
        headers = {"X-API-KEY": self.account["EVALSVC_API_KEY"]}
        with httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False) as client:
            answer = client.request(method, path, json=body)
        if answer.is_error:
            raise SystemExit(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json()


@contextlib.contextmanager
def service(say: Any) -> Iterator[Service]:
    """Start everything that an experiment needs, and stop it whatever happens."""
    with contextlib.ExitStack() as stack:
        # Two, as PostgreSQL runs as another user under root, who enters its own one only.
        home, servers_home = (
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evalsvc-demo-", ignore_cleanup_errors=True)))
            for _ in range(2)
        )
        say("starting PostgreSQL and Valkey ...")
        copy_template(servers_home)
        servers = stack.enter_context(throwaway(servers_home))
        supervisor = stack.enter_context(Supervisor(home / "logs", report=say))
        env = child_environment(home, {**servers.env, "EVALSVC_RPM_LIMIT": "1000000"})
        say("making the tables and an account ...")
        prepare = roster.manage("up", "--prepare", checkout=CHECKOUT, env=env)
        account = json.loads(supervisor.run_step("migrate", prepare))
        say("starting web and worker ...")
        listener = stack.enter_context(roster.listen_on_free_port("127.0.0.1", 0))
        (home / "run").mkdir(exist_ok=True)
        roster.go_file(home).touch()
        parts = [roster.WEB, roster.worker_name("experiments")]
        service = roster.service(CHECKOUT, env, home, "127.0.0.1", listener, parts=parts)
        supervisor.wait_ready(supervisor.add(service), timeout=300)
        yield Service(f"http://127.0.0.1:{listener.getsockname()[1]}", account, supervisor, env)


@dataclass
class Race:
    """The experiment: what is true about its configs, and what the service says of them."""

    service: Service
    options: argparse.Namespace
    task: list[dict[str, str]] = field(default_factory=list)
    truths: dict[str, float] = field(default_factory=dict)
    id: str = ""
    n_lines: int = 0
    said_at: float = 0.0
    answering_since: float | None = None
    took: float = 0.0

    @property
    def board(self) -> str:
        """The address of its page in the console."""
        account = self.service.call("GET", "/v1/whoami")["caller"]["api_key"]["account"]["id"]
        return f"/console/{account}/experiments/{self.id}"

    def create(self, base_url: str) -> None:
        """Store the dataset, the connection and the experiment, and start it."""
        options, call = self.options, self.service.call
        self.task = seeded_task(options.examples, options.seed)
        models = models_of(options.configs, options.seed)
        self.truths = {model: accuracy_of(model, self.task) for model in models}
        examples = [{"id": row["sid"], "input": row["task_input"], "expected": row["gold_answer"]} for row in self.task]
        dataset = call("POST", "/v1/datasets", {"dataset_name": "sums", "examples": examples})["dataset_id"]
        call("POST", "/v1/connections", {"name": "stub", "base_url": base_url, "model": "stub-echo", "key": "sk-demo"})
        plan = {
            "dataset_id": dataset,
            "metrics": [{"name": "accuracy", "evaluator": "exact-match"}],
            "policy": options.policy,
            "seed": options.seed,
            "start": True,
        }
        configs = [
            {"name": model, "kind": "chat", "parameters": {"connection": "stub", "model": model, "prompt": "{{input}}"}}
            for model in models
        ]
        body = {"name": "which model adds best?", "plan": plan, "configs": configs}
        self.id = call("POST", "/v1/experiments", body)["experiment"]["id"]

    def watch(self) -> dict[str, Any]:
        """Show the leaderboard until nothing runs any more; return the last view."""
        began = time.monotonic()
        while True:
            view: dict[str, Any] = self.service.call("GET", f"/v1/experiments/{self.id}/live")
            now = time.monotonic()
            if self.answering_since is None and view["experiment"]["n_queries"]:
                self.answering_since = now - POLL_SECONDS
            is_over = view["experiment"]["state"] != "running"
            self.show(view, now - began, is_over)
            if is_over:
                self.took = now - (self.answering_since or began)
                return view
            until = time.monotonic() + POLL_SECONDS
            while time.monotonic() < until:
                self.service.supervisor.tick()

    def show(self, view: dict[str, Any], seconds: float, is_over: bool) -> None:
        """Redraw the board in a terminal; elsewhere write a line now and then."""
        if sys.stdout.isatty():
            lines = board_lines(view, self.truths)
            up = f"\x1b[{self.n_lines}A" if self.n_lines else ""
            print(up + "\n".join(f"\x1b[2K{line}" for line in lines), flush=True)
            self.n_lines = len(lines)
        elif is_over or seconds - self.said_at >= LINE_SECONDS or not self.said_at:
            self.said_at = max(seconds, 0.001)
            print(f"{seconds:5.1f} s  {summary_line(view)}", flush=True)

    def report(self, view: dict[str, Any]) -> list[str]:
        """Say what the race took, and whether it was right."""
        head, configs = view["experiment"], view["configs"]
        n_all = len(configs) * len(self.task)
        decisions = self.service.call("GET", f"/v1/experiments/{self.id}/decisions?limit=1000")["decisions"]
        rested_on = {row["config_id"]: row["watermark"] for row in decisions}
        wasted = sum(config["n_done"] - rested_on[config["id"]] for config in configs if config["id"] in rested_on)
        leader = next(config for config in configs if config["id"] == view["leader"])
        best = max(self.truths.values())
        kept = any(self.truths[config["name"]] == best for config in configs if config["id"] not in rested_on)
        found = leader["metrics"]["accuracy"]
        n_left = len(configs) - len(rested_on)
        rows = {
            "queries": f"{head['n_queries']} of {n_all} ({n_all / max(1, head['n_queries']):.1f} times fewer)",
            "of them for nothing": f"{wasted}, answered beyond what the decision to stop their config rested on",
            "wall time": f"{self.took:.1f} s from the first answer on",
            "survivor": f"{leader['name']}: {words_of(found)}, true accuracy {self.truths[leader['name']]:.4f}"
            + (f" (and {n_left - 1} more)" if n_left > 1 else ""),
            "best kept": f"{'yes' if kept else 'no'} (the best config is right on {best:.4f})",
            "books": "equal to a recount" if self.recounted() else "DIFFER from a recount",
        }
        return [f"  {name:<20} {value}" for name, value in rows.items()]

    def recounted(self) -> bool:
        """Say whether the running sums are those of the single scores."""
        return bool(self.service.call("GET", f"/v1/experiments/{self.id}/recount")["equal"])


def models_of(n: int, seed: int) -> list[str]:
    """Return models of accuracies spread evenly between the lowest and the highest, in no order."""
    step = (HIGHEST - LOWEST) / max(1, n - 1)
    models = [f"stub-accuracy-{HIGHEST - step * i:.3f}-{i:02d}" for i in range(n)]
    random.Random(seed).shuffle(models)
    return models


def board_lines(view: dict[str, Any], truths: dict[str, float]) -> list[str]:
    """Draw the board: a line for each config, the best first."""
    lines = [summary_line(view), ""]
    in_race = ("running", "completed")

    def rank(config: dict[str, Any]) -> tuple[bool, float]:
        return config["state"] not in in_race, -(config["metrics"]["accuracy"]["value"] or 0.0)

    for config in sorted(view["configs"], key=rank):
        found, mark = config["metrics"]["accuracy"], "*" if config["id"] == view["leader"] else " "
        shown = f"{config['n_done']:>4}/{found['N']}  {drawn(found)}  {words_of(found)}"
        lines.append(f"{mark} {config['name']:<25} {config['state']:<9} {shown}   true {truths[config['name']]:.3f}")
    return lines


def drawn(found: dict[str, Any]) -> str:
    """Draw an interval between 0 and 1."""
    if found["lower"] is None:
        return " " * BAR
    lower, value, upper = (min(BAR - 1, int(found[name] * BAR)) for name in ("lower", "value", "upper"))
    return "".join("#" if i == value else "-" if lower <= i <= upper else " " for i in range(BAR))


def words_of(found: dict[str, Any]) -> str:
    """Write a value with its interval."""
    if found["value"] is None:
        return "-"
    if found["lower"] is None:
        return f"{found['value']:.3f}"
    return f"{found['value']:.3f} [{found['lower']:.3f}, {found['upper']:.3f}]"


def summary_line(view: dict[str, Any]) -> str:
    """Say in a line where the experiment stands."""
    running = sum(config["state"] == "running" for config in view["configs"])
    leader = next((config for config in view["configs"] if config["id"] == view["leader"]), None)
    ahead = f"; {leader['name']} leads with {words_of(leader['metrics']['accuracy'])}" if leader else ""
    head = view["experiment"]
    return f"{head['state']}: {head['n_queries']} queries, {running} of {len(view['configs'])} configs run{ahead}"


def run(options: argparse.Namespace) -> None:
    """Run the demo from start to end."""
    with running_stub(latency_ms=options.latency_ms) as stub, service(print) as own:
        race = Race(own, options)
        race.create(stub.base_url)
        print(
            f"\n{options.configs} configs, {options.examples} examples, {options.latency_ms:g} ms a query, {options.policy}"
        )
        print(f"watch it at {own.url}{race.board}")
        print(f"sign in as {own.account['EVALSVC_ADMIN_USER']}, password {own.account['EVALSVC_ADMIN_PASSWORD']}\n")
        view = race.watch()
        print("\n" + "\n".join(race.report(view)), flush=True)
        if options.stay:
            print("\nThe service stays until Ctrl-C.", flush=True)
            own.supervisor.watch()


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="make demo-experiment", description=__doc__)
    parser.add_argument("--policy", choices=POLICIES, default="race_default", help="who stops the losers")
    parser.add_argument("--latency-ms", type=float, default=20.0, help="how long the stub takes for an answer")
    parser.add_argument("--configs", type=int, default=16, help="how many, from 2 to 100")
    parser.add_argument("--examples", type=int, default=400, help="how many examples")
    parser.add_argument("--seed", type=int, default=1, help="of the examples and their order")
    parser.add_argument(
        "--stay", action="store_true", help="keep the service up at the end, to look around in the console"
    )
    options = parser.parse_args()
    if not 2 <= options.configs <= 100 or options.examples < 1 or options.seed < 0:
        parser.error("2 to 100 configs, at least one example, and a seed that is not negative")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run(options)
    except (KeyboardInterrupt, StopRequested):
        print("\nStopped; nothing is left.", flush=True)
        return INTERRUPTED
    except ServiceFailed as exc:
        print(exc, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
