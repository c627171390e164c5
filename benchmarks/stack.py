"""A durable throw-away stack for benchmarks: PostgreSQL with fsync, Valkey, gunicorn; and their CPU time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import psutil

from benchmarks.machine import cpu_seconds

try:
    from evalsvc.local.embedded.home import load_secrets, prepare_home
    from evalsvc.local.embedded.postgres import EmbeddedPostgres
    from evalsvc.local.embedded.roles import ensure_roles
    from evalsvc.local.embedded.valkey import EmbeddedValkey
    from evalsvc.local.process import Command, start, stop_tree
    from evalsvc.local.supervisor.roster import listen_on_free_port
except ModuleNotFoundError:  # a parent from before evalsvc.local
    from evalsvc.ops.embedded.home import load_secrets, prepare_home  # type: ignore[no-redef]
    from evalsvc.ops.embedded.postgres import EmbeddedPostgres  # type: ignore[no-redef]
    from evalsvc.ops.embedded.roles import ensure_roles  # type: ignore[no-redef]
    from evalsvc.ops.embedded.valkey import EmbeddedValkey  # type: ignore[no-redef]
    from evalsvc.ops.supervisor.process import Command, start, stop_tree  # type: ignore[no-redef]
    from evalsvc.ops.supervisor.roster import listen_on_free_port  # type: ignore[no-redef]

__all__ = ["Stack", "account_with_key", "celery", "copy_template", "cpu_seconds", "gunicorn", "stack"]

CHECKOUT = Path(__file__).resolve().parent.parent
# gunicorn lets requests end for 25 s.
SECONDS_TO_STOP = 30
TEMPLATE = "EVALSVC_TESTS_TEMPLATE"
"""Names the folder of stopped servers, migrated by this version, that the processes of one test run copy."""


@dataclass
class Stack:
    """Running servers and the environment they are reached by."""

    postgres: EmbeddedPostgres
    valkey: EmbeddedValkey
    env: dict[str, str]

    def processes(self) -> dict[str, psutil.Process]:
        """Return the servers by what they are; below each are its own."""
        started = {"postgres": self.postgres.process, "valkey": self.valkey.process}
        return {name: psutil.Process(process.pid) for name, process in started.items() if process is not None}


@contextlib.contextmanager
def stack() -> Iterator[Stack]:
    """Start the servers, migrate, and set this process' Django up against them."""
    with contextlib.ExitStack() as exits:
        home = Path(
            exits.enter_context(tempfile.TemporaryDirectory(prefix="evalsvc-bench-", ignore_cleanup_errors=True))
        )
        is_migrated = copy_template(home)
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
        if not is_migrated:
            command = [sys.executable, "manage.py", "migrate", "--database", "owner", "--verbosity", "0"]
            subprocess.run(command, cwd=CHECKOUT, check=True)
        import django

        django.setup()
        yield Stack(postgres, valkey, env)


def copy_template(home: Path) -> bool:
    """Begin with migrated servers where a test run has some: migrations take 4 s of CPU. Say whether it has."""
    template = os.environ.get(TEMPLATE)
    if template:
        # With its owners: PostgreSQL refuses files of somebody else's.
        subprocess.run(["cp", "-a", f"{template}/.", str(home)], check=True)
    return bool(template)


@contextlib.contextmanager
def gunicorn(conf: str = "evalsvc.ops.gunicorn_conf", **env: str) -> Iterator[tuple[int, psutil.Process]]:
    """Serve the benchmark's addresses on a free port, with the settings that `make up` uses, or a module's.

    The port stays bound from when it is found, so that nobody else can take it.
    """
    with listen_on_free_port("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        listen = ["--bind", f"fd://{listener.fileno()}"]
        arguments = ["-m", "gunicorn", "evalsvc.wsgi:application", "-c", f"python:{conf}", *listen]
        with running(arguments, env, pass_fds=(listener.fileno(),)) as process:
            wait_for(f"http://127.0.0.1:{port}/readyz")
            yield port, process


@contextlib.contextmanager
def celery(queue: str, *, pool: str = "prefork", concurrency: int = 2, **env: str) -> Iterator[psutil.Process]:
    """Run a worker of a queue until the block ends; its log is in the home of the stack."""
    name = f"bench-{uuid.uuid4().hex[:6]}"
    log = Path(os.environ["EVALSVC_HOME"]) / f"{name}.log"
    arguments = ["-m", "celery", "-A", "evalsvc.celery", "worker", "-Q", queue, "-P", pool, "-c", str(concurrency)]
    arguments += ["-n", f"{name}@bench", "--without-mingle", "--without-gossip", "-l", "INFO"]
    with running(arguments, env, log=log) as process:
        wait_until(lambda: b" ready." in log.read_bytes(), what=f"the worker of {queue} starts")
        yield process


@contextlib.contextmanager
def running(
    arguments: list[str], env: Mapping[str, str], *, log: Path | None = None, pass_fds: tuple[int, ...] = ()
) -> Iterator[psutil.Process]:
    """Run Python with these arguments in a session of its own; it ends with the block, and when this process dies."""
    command = Command(
        [sys.executable, *arguments], env={**os.environ, **env}, cwd=CHECKOUT, death_signal=signal.SIGQUIT,
        pass_fds=pass_fds,
    )  # fmt: skip
    with contextlib.ExitStack() as exits:
        out = exits.enter_context(log.open("ab")) if log else sys.stderr.fileno()
        process = start(command, stdout=out, stderr=out)
        exits.callback(stop_tree, process, signal.SIGTERM, SECONDS_TO_STOP)
        yield psutil.Process(process.pid)


def account_with_key(name: str) -> tuple[int, str]:
    """Make an account, and a key that may write in it."""
    from evalsvc.accounts.models import ApiKey
    from evalsvc.accounts.services import create_account, issue_key
    from evalsvc.tenancy.scope import SYSTEM, role_scope

    with role_scope(SYSTEM):
        account = create_account(name=name)
    _, key = issue_key(account=account, name="benchmark", scope=ApiKey.Scope("write"))
    return account.pk, str(key)


def wait_for(url: str) -> None:
    """Wait until an address answers 200."""

    def answers() -> bool:
        with contextlib.suppress(OSError), urlopen(url) as answer:
            return bool(answer.status == 200)
        return False

    wait_until(answers, what=url)


def wait_until(is_true: Callable[[], object], *, what: str, seconds: float = 300) -> None:
    """Wait until something is true; raise TimeoutError when it takes too long."""
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.1)
