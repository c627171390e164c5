"""A real gunicorn for tests, on a port that nobody else can take in between."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.request import urlopen

from evalsvc.local.supervisor.roster import listen_on_free_port
from tests.conftest import stop_group, wait_until
from tests.preloaded import OURS, Child, Program, start_module

CONFIGURED = ("-c", "evalsvc/ops/gunicorn_conf.py")


def start_web(
    listener: socket.socket, log: Path, options: Sequence[str], program: Program = OURS, /, **env: str
) -> Child:
    """Start gunicorn on a bound socket, in a session of its own."""
    number = listener.fileno()
    arguments = [*options, "-b", f"fd://{number}", "evalsvc.wsgi:application"]
    with log.open("ab") as out:
        return start_module("gunicorn", *arguments, out=out, env=os.environ | env, program=program, files=[number])


def answers(url: str) -> bool:
    """Say whether an address answers 200."""
    try:
        return bool(urlopen(url, timeout=2).status == 200)
    except OSError:
        return False


@contextlib.contextmanager
def serving(log: Path, path: str = "/readyz", program: Program = OURS, /, **env: str) -> Iterator[str]:
    """Serve the application with the product's settings until the block ends; the address is what it yields."""
    with listen_on_free_port("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        process = start_web(listener, log, CONFIGURED, program, EVALSVC_WEB_WORKERS="1", **env)
        try:
            wait_until(lambda: answers(url + path) or process.poll() is not None)
            assert process.poll() is None, log.read_text()
            yield url
        finally:
            stop_group(process)
