"""The service's own processes: web, one worker per queue, the clock."""

import http.client
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import replace
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


def web(checkout: Path, env: Mapping[str, str], host: str, listener: socket.socket) -> ChildSpec:
    """Serve on a socket that is bound already: between looking for a free port and taking it, nobody else can."""
    port = listener.getsockname()[1]
    listen = ["--bind", f"fd://{listener.fileno()}"]
    arguments = ["-m", "gunicorn", "--config", "evalsvc/ops/gunicorn_conf.py", *listen, "evalsvc.wsgi:application"]
    env = {**env, "EVALSVC_HOST": host, "EVALSVC_PORT": str(port)}
    command = python(*arguments, checkout=checkout, env=env, death=signal.SIGQUIT)
    command = replace(command, pass_fds=(listener.fileno(),))
    return ChildSpec("web", lambda: command, lambda: answers(host, port), WORK_STAGE, stop_timeout=30)


def workers(checkout: Path, env: Mapping[str, str], home: Path) -> list[ChildSpec]:
    return [worker(checkout, env, home, queue, pool, size) for queue, (pool, size) in WORKERS.items()]


def worker(checkout: Path, env: Mapping[str, str], home: Path, queue: str, pool: str, concurrency: int) -> ChildSpec:
    """A worker of one queue; ready when it has said so in a file, which is once it takes work."""
    ready = home / "run" / f"worker-{queue}.ready"
    options = ["-Q", queue, "-P", pool, "-c", str(concurrency), "-n", f"{queue}@%h"]
    quiet = ["--without-mingle", "--without-gossip"]
    env = {**env, "EVALSVC_READY_FILE": str(ready)}
    prepared = python("-m", "celery", "-A", "evalsvc.celery", "worker", *options, *quiet, checkout=checkout, env=env)

    def command() -> Command:
        ready.unlink(missing_ok=True)  # what an earlier one had said
        return prepared

    return ChildSpec(f"worker-{queue}", command, ready.exists, WORK_STAGE, stop_timeout=20)


def beat(checkout: Path, env: Mapping[str, str], home: Path) -> ChildSpec:
    options = ["-s", str(home / "beat-schedule")]
    command = python("-m", "celery", "-A", "evalsvc.celery", "beat", *options, checkout=checkout, env=env)
    return ChildSpec("beat", lambda: command, stage=CLOCK_STAGE, stop_timeout=10)


def answers(host: str, port: int) -> bool:
    """Whether ``/readyz`` answers 200."""
    connection = http.client.HTTPConnection(reachable(host), port, timeout=2)
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


def listen_on_free_port(host: str, first: int, *, tries: int = 100) -> socket.socket:
    """Return a socket bound to `first`, or to the next port that nobody has; the caller closes it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in range(first, min(first + tries, 65_536)):
        listener = socket.socket(family, socket.SOCK_STREAM)
        # As gunicorn does: without it a port counts as taken for a minute after its last connection.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            # Bound alone, Linux lets a second one with the same option bind it too.
            listener.listen()
        except PermissionError as error:
            listener.close()
            raise OSError(f"Port {port} is not for ordinary users. Choose one from 1024 on with --port.") from error
        except OSError:
            listener.close()
            continue
        return listener
    raise OSError(f"No free port from {first} on at {host}. Choose another with --port.")
