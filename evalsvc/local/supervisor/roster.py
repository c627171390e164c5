"""The service's own processes: web, one worker per queue, the clock. All are forked from one that has imported them."""

import errno
import http.client
import json
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evalsvc.local.disk import explain_shortage
from evalsvc.local.drain import REQUESTS_SECONDS, drain_seconds
from evalsvc.local.embedded.home import is_checkout
from evalsvc.local.process import Command
from evalsvc.local.supervisor.children.child import ChildSpec

# Pool and concurrency by queue. Judge tasks wait for other servers and system tasks for the database, so they use
# threads. The other tasks compute.
WORKERS = {
    "cpu": ("prefork", 2),
    "judge": ("threads", 8),
    "experiments": ("prefork", 2),
    "system": ("threads", 1),
}
# Queues for tasks that score with the small models, which are loaded before the fork so that workers share the memory.
QUEUES_WITH_MODELS = ("cpu", "experiments")
# The worker of this queue also runs the clock, which queues the tasks that are due.
QUEUE_OF_CLOCK = "system"
WEB = "web"
# The embedded servers have lower stages: they stop after everything that uses them.
SERVICE_STAGE = 9
# Which start a web process belongs to: another service may answer at the same address.
START_HEADER = "X-Evalsvc-Start"
START_VARIABLE = "EVALSVC_START"
PORT_SECONDS = 30
# The service ends with this exit code when a new start would fail again.
GIVES_UP = 3


def worker_name(queue: str) -> str:
    return f"worker-{queue}"


# OTLP over gRPC. It imports grpcio after the fork, and forks nothing: gRPC's threads would not be in the child.
OTLP = "otlp-grpc"
PARTS = (WEB, *map(worker_name, WORKERS), OTLP)


def python(*arguments: str, checkout: Path, env: Mapping[str, str], death: signal.Signals = signal.SIGKILL) -> Command:
    """Describe a run of this Python, which finds the service: in the checkout, or where it is installed."""
    if is_checkout(checkout):
        return Command([sys.executable, *arguments], env=env, cwd=checkout, death_signal=death)
    # The folder of packages, as the current one, would come before the standard library.
    return Command([sys.executable, "-P", *arguments], env=env, cwd=Path(env["EVALSVC_HOME"]), death_signal=death)


def manage(*arguments: str, checkout: Path, env: Mapping[str, str]) -> Command:
    """Describe a run of a management command."""
    return python("-m", "evalsvc.local.manage", *arguments, checkout=checkout, env=env)


def service(
    checkout: Path,
    env: Mapping[str, str],
    home: Path,
    host: str,
    listener: socket.socket,
    *,
    parts: Sequence[str] = PARTS,
    otlp_port: int = 0,
    terminal: int | None = None,
) -> ChildSpec:
    """Describe the process that forks web, workers and clock. It forks once the `go_file` is there.

    It serves on a socket that is bound already, so that no other process can take the port meanwhile. Crashes are
    reported to the open file `terminal`.
    """
    number, port = listener.fileno(), listener.getsockname()[1]
    options = ["--home", str(home), "--listener", str(number), "--parts", ",".join(parts)]
    options += [] if terminal is None else ["--terminal", str(terminal)]
    env = {**env, "EVALSVC_HOST": host, "EVALSVC_PORT": str(port), "EVALSVC_OTLP_GRPC_PORT": str(otlp_port)}
    command = python("-m", "evalsvc.preload", *options, checkout=checkout, env=env)
    command = replace(command, pass_fds=(number, *([] if terminal is None else [terminal])))

    def begin() -> Command:
        for name in parts:
            ready_file(home, name).unlink(missing_ok=True)  # left there by an earlier run
        return command

    return ChildSpec(
        "service",
        begin,
        lambda: not missing(home, parts) and (WEB not in parts or answers(host, port, env.get(START_VARIABLE))),
        SERVICE_STAGE,
        stop_timeout=REQUESTS_SECONDS + 15 + drain_seconds(env),
        explain_crash=lambda: explain_shortage(home),
        gives_up_with=GIVES_UP,
    )


def go_file(home: Path) -> Path:
    """Return the path of the file that signals that the database is migrated."""
    return home / "run" / "migrated"


def ready_file(home: Path, name: str) -> Path:
    """Return the path of the file that a part writes when it is ready."""
    return home / "run" / f"{name}.ready"


def missing(home: Path, parts: Sequence[str]) -> list[str]:
    """Return the names of parts that take no work yet. The web writes no such file."""
    return [name for name in parts if name != WEB and not ready_file(home, name).exists()]


def answers(host: str, port: int, start: str | None = None) -> bool:
    """Return whether ``/readyz`` answers 200, and as a process of this start if one is named."""
    return readiness(host, port, start) is not None


def readiness(host: str, port: int, start: str | None = None) -> dict[str, str] | None:
    """Return the state that ``/readyz`` gives for each part; None until it answers 200 for this start."""
    connection = http.client.HTTPConnection(reachable(host), port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        body = answer.read()
        is_ours = start is None or answer.headers.get(START_HEADER) == start
        return dict(json.loads(body or b"{}")) if answer.status == http.client.OK and is_ours else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


def silent(host: str, port: int, start: str | None = None) -> list[str]:
    """Return the names of the parts that ``/readyz`` calls down."""
    return [name for name, state in (readiness(host, port, start) or {}).items() if state == "down"]


def reachable(host: str) -> str:
    """Return the address at which this machine reaches a server that listens on `host`."""
    any_address = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104  # nosec B104 - compared, not bound
    return any_address.get(host, host)


def listen_on_free_port(host: str, first: int, *, tries: int = 100) -> socket.socket:
    """Return a socket bound to `first`, or to the next free port; the caller closes it."""
    for port in range(first, min(first + tries, 65_536)):
        if listener := _listen(host, port):
            return listener
    raise OSError(f"No free port from {first} on at {host}. Choose another with --port.")


def listen_on_port(host: str, port: int, *, seconds: float = PORT_SECONDS) -> socket.socket:
    """Return a socket bound to this port and no other; the caller closes it.

    Waits for the port to become free: web processes of a killed service can listen on it for a while.
    """
    if not 0 <= port < 65_536:
        raise OSError(f"{port} is no port. Choose one below 65536 with --port.")
    deadline = time.monotonic() + seconds
    while (listener := _listen(host, port)) is None:
        if time.monotonic() >= deadline:
            raise OSError(
                f"Port {port} at {host} is still taken after {seconds:g} s. End what listens there, or choose another "
                "with --port; without --port and EVALSVC_PORT the next free one is taken."
            )
        time.sleep(0.1)
    return listener


def _listen(host: str, port: int) -> socket.socket | None:
    """Return a socket bound to a port; None if the port is taken."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    # As gunicorn does: without it a port counts as taken for a minute after its last connection.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # While a socket is only bound, Linux lets a second one with the same option bind the port too.
        listener.listen()
    except PermissionError as error:
        listener.close()
        raise OSError(
            f"Port {port} is not for ordinary users. Choose one from 1024 on with --port, or --https-port."
        ) from error
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return listener
