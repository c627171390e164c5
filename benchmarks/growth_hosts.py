"""One host for web and workers against two of them, on one PostgreSQL through PgBouncer in transaction mode.

Hosts are process groups of this machine: a web process and a worker for the cpu lane each, and no more of a core than
--cores (a control group; needs the rights to make one). So a second host can double what there is, as long as
PostgreSQL, PgBouncer, Valkey and the client have a core left. PgBouncer is no part of the service: say where it is.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import psutil

from benchmarks.evaluate import BODY
from benchmarks.figures import Goal, Row, figure, ratios
from benchmarks.frame import Report, parser, run
from benchmarks.load import Connections, http_request
from benchmarks.slices import Failed
from benchmarks.stack import Stack, account_with_key, celery, cpu_seconds, gunicorn, stack, wait_until
from evalsvc.local.supervisor.roster import listen_on_free_port

GROUPS = Path("/sys/fs/cgroup/cpu")
PERIOD_US = 50_000
ROLES = {"DATABASE_URL": "app", "DATABASE_SYSTEM_URL": "system"}
BODIES = {
    "inline": BODY,
    "through the cpu lane": BODY | {"evaluators": [{"evaluator": "toxicity"}], "confidence_interval_strategy": "none"},
}
SETTINGS = """
[databases]
{database} = host={host} port={port} dbname={database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 12
logfile = {log}
"""


@contextlib.contextmanager
def pgbouncer(program: str, urls: dict[str, str]) -> Iterator[tuple[dict[str, str], psutil.Process]]:
    """Run PgBouncer in front of the database of these URLs; yields the URLs through it."""
    with (
        tempfile.TemporaryDirectory(prefix="evalsvc-pgbouncer-") as folder,
        listen_on_free_port("127.0.0.1", 0) as free,
    ):
        port, home = free.getsockname()[1], Path(folder)
        parts = {name: urlsplit(url) for name, url in urls.items()}
        one = parts["DATABASE_URL"]
        host = parse_qs(one.query).get("host", [one.hostname or "127.0.0.1"])[0]
        said = {"database": one.path.strip("/"), "host": host, "port": one.port or 5432, "listen": port}
        users = home / "users.txt"
        users.write_text("".join(f'"{part.username}" "{unquote(part.password or "")}"\n' for part in parts.values()))
        (home / "ini").write_text(SETTINGS.format(**said, users=users, log=home / "log"))
        command = [program, str(home / "ini")]
        if os.geteuid() == 0:
            # It does not run as root.
            for path in (home, users, home / "ini"):
                shutil.chown(path, "nobody")
            command = [program, "-u", "nobody", str(home / "ini")]
        free.close()
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            wait_until(lambda: "process up" in _text(home / "log") or process.poll() is not None, what="PgBouncer")
            if process.poll() is not None:
                raise SystemExit(f"PgBouncer does not start: {_text(home / 'log')}")
            through = {
                name: f"postgresql://{part.username}:{part.password}@127.0.0.1:{port}/{said['database']}"
                for name, part in parts.items()
            }
            yield through, psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait()


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


@contextlib.contextmanager
def host(number: int, cores: float, env: dict[str, str]) -> Iterator[tuple[int, list[psutil.Process]]]:
    """Run one host's web process and worker until the block ends; yields its port and its processes."""
    with contextlib.ExitStack() as exits:
        group = exits.enter_context(limited(f"evalsvc-bench-{os.getpid()}-{number}", cores))
        port, web = exits.enter_context(gunicorn(EVALSVC_WEB_WORKERS="1", **env))
        worker = exits.enter_context(celery("cpu", concurrency=1, **env))
        roots = [web, worker]
        for root in roots:
            for one in (root, *root.children(recursive=True)):
                (group / "cgroup.procs").write_text(str(one.pid))
        yield port, roots


@contextlib.contextmanager
def limited(name: str, cores: float) -> Iterator[Path]:
    """Make a control group that has so much of a core; it goes when its processes have."""
    group = GROUPS / name
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(round(PERIOD_US * cores)))
        yield group
    finally:
        wait_until(lambda: not (group / "cgroup.procs").read_text().strip(), what=f"{name} is empty")
        group.rmdir()


def measure(options: argparse.Namespace, report: Report) -> None:
    """Load one host; start the second, and load both; end it, and so on: a worker that is there takes work of both."""
    seconds, rounds = (0.3, 1) if options.tiny else (options.seconds, options.rounds)
    rates: dict[str, list[float]] = defaultdict(list)
    cores: dict[str, list[float]] = defaultdict(list)
    with contextlib.ExitStack() as exits:
        servers = exits.enter_context(stack())
        urls = {name: os.environ[name] for name in ROLES}
        through, bouncer = exits.enter_context(pgbouncer(options.pgbouncer, urls))
        env = {**through, "EVALSVC_PGBOUNCER": "1", "EVALSVC_DATABASE_POOL_SIZE": "10"}
        _, key = account_with_key("hosts")
        requests = {name: [written(body, key)] for name, body in BODIES.items()}
        first = exits.enter_context(host(1, options.cores, env))
        until = report.share()
        for number in range(rounds):
            with contextlib.ExitStack() as second:
                for hosts in ("one", "two"):
                    found = [first] if hosts == "one" else [first, second.enter_context(host(2, options.cores, env))]
                    used = seconds_of(servers, bouncer, [root for _, roots in found for root in roots])
                    for name, wanted in requests.items():
                        loaded([port for port, _ in found], wanted, options.connections, min(1.0, seconds))
                        before, began = used(), time.monotonic()
                        rates[f"{name}, {hosts}"].append(
                            loaded([port for port, _ in found], wanted, options.connections, seconds)
                        )
                        passed, after = time.monotonic() - began, used()
                        for kind in after:
                            cores[f"{kind}, {name}, {hosts}"].append((after[kind] - before[kind]) / passed)
            # What is not known at the deadline is lost.
            report.rows = rows_of(rates, cores)
            report.say(f"round {number + 1}")
            if time.monotonic() > until:
                break


def written(body: dict[str, object], key: str) -> bytes:
    """Write a call of the account as a request."""
    return http_request("/v1/evaluate", json.dumps(body).encode(), {"X-API-KEY": key})


def rows_of(rates: dict[str, list[float]], cores: dict[str, list[float]]) -> list[Row]:
    """Return the rates of one host and of both, their ratio round by round, and the cores that each part had."""
    rows = []
    for name in BODIES:
        one, two = (rates[f"{name}, {hosts}"] for hosts in ("one", "two"))
        rows += [
            Row(f"{name}, one host", "requests/s", figure(one)),
            Row(f"{name}, two hosts", "requests/s", figure(two)),
            Row(f"  two ÷ one, {name}", "x", figure(ratios(two, one)), goal=Goal(1.6, at_least=True)),
        ]
    return rows + [Row(f"  {what}", "cores", figure(values)) for what, values in cores.items()]


def seconds_of(
    servers: Stack, bouncer: psutil.Process, roots: Sequence[psutil.Process]
) -> Callable[[], dict[str, float]]:
    """Return a function that says what CPU seconds each kind of process has used."""
    kinds = {name: [process] for name, process in servers.processes().items()} | {"PgBouncer": [bouncer]}
    kinds["hosts"] = list(roots)
    return lambda: {name: sum(cpu_seconds(one) for one in processes) for name, processes in kinds.items()}


def loaded(ports: Sequence[int], requests: Sequence[bytes], n: int, seconds: float) -> float:
    """Load hosts over n connections each at once; return the requests a second of all."""
    rates: list[float] = []
    failed: list[str] = []

    def load(port: int) -> None:
        with Connections(port, n) as connections:
            connections.prime(requests)
            done = connections.run(requests, seconds=seconds)
        rates.append(done.rate)
        failed.extend(done.errors)

    threads = [threading.Thread(target=load, args=(port,)) for port in ports]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed or len(rates) != len(ports):
        raise Failed(f"{failed[:3] or 'no answer'}")
    return sum(rates)


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    options = parser(__doc__, deadline=400)
    options.add_argument("--pgbouncer", default=shutil.which("pgbouncer"), help="the program (default: from the PATH)")
    options.add_argument("--cores", type=float, default=0.15, help="of each host, of one core (default 0.15)")
    options.add_argument("--connections", type=int, default=8, help="to each host (default 8)")
    options.add_argument("--seconds", type=float, default=3.0)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args(argv)
    if not chosen.pgbouncer:
        options.error("there is no PgBouncer on the PATH: say where it is, with --pgbouncer")
    if not os.access(GROUPS / "cgroup.procs", os.W_OK):
        options.error(f"no control group may be made in {GROUPS}: hosts could not be kept to their part of a core")
    return run("hosts", measure, chosen)


if __name__ == "__main__":
    sys.exit(main())
