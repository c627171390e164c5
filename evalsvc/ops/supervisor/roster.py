"""The service's own processes: web, one worker per queue, the clock."""

import http.client
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from evalsvc.ops.supervisor.child import ChildSpec
from evalsvc.ops.supervisor.process import Command

# queue -> pool and concurrency. Judges wait for others, so threads; the rest computes.
WORKERS = {
    "cpu": ("prefork", 2),
    "judge": ("threads", 8),
    "experiments": ("prefork", 2),
    "system": ("prefork", 1),
}
# Both embedded servers have lower stages: they stop after everything that uses them.
CLOCK_STAGE = 8
WORK_STAGE = 9


def python(*arguments: str, checkout: Path, env: Mapping[str, str], death: signal.Signals = signal.SIGKILL) -> Command:
    return Command([sys.executable, *arguments], env=env, cwd=checkout, death_signal=death)


def web(checkout: Path, env: Mapping[str, str], host: str, port: int) -> ChildSpec:
    arguments = ["-m", "gunicorn", "--config", "evalsvc/ops/gunicorn_conf.py", "evalsvc.wsgi:application"]
    env = {**env, "EVALSVC_HOST": host, "EVALSVC_PORT": str(port)}
    command = python(*arguments, checkout=checkout, env=env, death=signal.SIGQUIT)
    return ChildSpec("web", lambda: command, lambda: answers(host, port), WORK_STAGE, stop_timeout=30)


def workers(checkout: Path, env: Mapping[str, str]) -> list[ChildSpec]:
    return [worker(checkout, env, queue, pool, size) for queue, (pool, size) in WORKERS.items()]


def worker(checkout: Path, env: Mapping[str, str], queue: str, pool: str, concurrency: int) -> ChildSpec:
    options = ["-Q", queue, "-P", pool, "-c", str(concurrency), "-n", f"{queue}@%h"]
    quiet = ["--without-mingle", "--without-gossip"]
    command = python("-m", "celery", "-A", "evalsvc.celery", "worker", *options, *quiet, checkout=checkout, env=env)
    return ChildSpec(f"worker-{queue}", lambda: command, stage=WORK_STAGE, stop_timeout=20)


def beat(checkout: Path, env: Mapping[str, str], home: Path) -> ChildSpec:
    options = ["-s", str(home / "beat-schedule")]
    command = python("-m", "celery", "-A", "evalsvc.celery", "beat", *options, checkout=checkout, env=env)
    return ChildSpec("beat", lambda: command, stage=CLOCK_STAGE, stop_timeout=10)


def answers(host: str, port: int) -> bool:
    """Whether ``/readyz`` answers 200."""
    connection = http.client.HTTPConnection(reachable(host), port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def reachable(host: str) -> str:
    """The address under which this machine reaches a server that listens on `host`."""
    any_address = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104  # nosec B104 - compared, not bound
    return any_address.get(host, host)


def free_port(host: str, first: int, *, tries: int = 100) -> int:
    """`first`, or the next port on which nobody listens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in range(first, min(first + tries, 65_536)):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # As gunicorn does: without it a port counts as taken for a minute after its last connection.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise OSError(f"No free port from {first} on at {host}. Choose another with --port.")
