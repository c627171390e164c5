"""A durable throw-away stack for benchmarks: PostgreSQL with fsync, Valkey, gunicorn; and their CPU time."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import psutil

from evalsvc.ops.embedded.home import load_secrets, prepare_home
from evalsvc.ops.embedded.postgres import EmbeddedPostgres
from evalsvc.ops.embedded.roles import ensure_roles
from evalsvc.ops.embedded.valkey import EmbeddedValkey
from evalsvc.ops.supervisor.roster import listen_on_free_port

CHECKOUT = Path(__file__).resolve().parent.parent


@dataclass
class Stack:
    """Running servers and the environment they are reached by."""

    postgres: EmbeddedPostgres
    valkey: EmbeddedValkey
    env: dict[str, str]


@contextlib.contextmanager
def stack() -> Iterator[Stack]:
    """Start the servers, migrate, and set this process' Django up against them."""
    with contextlib.ExitStack() as exits:
        home = Path(
            exits.enter_context(tempfile.TemporaryDirectory(prefix="evalsvc-bench-", ignore_cleanup_errors=True))
        )
        prepare_home(home)
        secrets = load_secrets(home)
        postgres = EmbeddedPostgres(home, password=secrets["POSTGRES_PASSWORD"])
        valkey = EmbeddedValkey(home)
        for server in (postgres, valkey):
            exits.callback(server.remove_socket_dir)
            exits.callback(server.stop)
            server.start()
        urls = ensure_roles(postgres.url, secrets, reset_passwords=True)
        env = {
            **urls.environment(),
            "REDIS_URL": valkey.redis_url,
            "CELERY_BROKER_URL": valkey.broker_url,
            **{name: secrets[name] for name in ("SECRET_KEY", "KEY_PEPPER", "ENCRYPTION_KEYS")},
            "EVALSVC_HOME": str(home),
            "EVALSVC_REQUIRE_HTTPS": "0",
            "EVALSVC_RPM_LIMIT": "1000000000",
            "EVALSVC_MONTHLY_LIMIT": "1000000000000",
            "EVALSVC_ROOT_URLCONF": "benchmarks.urls",
            # The tests' helpers are welcome here, without the servers that they start: those would take our place in
            # the environment, and workers and benchmark would wait for each other on different databases.
            "EVALSVC_TEST_SERVICES": "0",
            "DJANGO_SETTINGS_MODULE": "evalsvc.settings",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        os.environ.update(env)
        command = [sys.executable, "manage.py", "migrate", "--database", "owner", "--verbosity", "0"]
        subprocess.run(command, cwd=CHECKOUT, check=True)
        import django

        django.setup()
        yield Stack(postgres, valkey, env)


@contextlib.contextmanager
def gunicorn(conf: str = "evalsvc.ops.gunicorn_conf") -> Iterator[tuple[int, psutil.Process]]:
    """Serve the benchmark's addresses on a free port, with the settings that `make up` uses, or a module's.

    The port stays bound from when it is found, so that nobody else can take it.
    """
    with listen_on_free_port("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        listen = ["--bind", f"fd://{listener.fileno()}"]
        command = [sys.executable, "-m", "gunicorn", "evalsvc.wsgi:application", "-c", f"python:{conf}", *listen]
        process = subprocess.Popen(command, cwd=CHECKOUT, pass_fds=[listener.fileno()])
        try:
            wait_for(f"http://127.0.0.1:{port}/readyz")
            yield port, psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait(timeout=30)


def wait_for(url: str, seconds: float = 30) -> None:
    """Wait until an address answers 200."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), urlopen(url) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise TimeoutError(url)


def cpu_seconds(*roots: psutil.Process) -> float:
    """Return the CPU time of process trees, children that have ended included."""
    total = 0.0
    for root in roots:
        total += sum(root.cpu_times()[:4])
        for child in root.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += sum(child.cpu_times()[:2])
    return total
