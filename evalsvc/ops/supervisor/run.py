"""`make up`: every process of the service on one machine, from an empty folder to the first answer."""

import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg

from evalsvc.ops.embedded.home import evalsvc_home, load_secrets, prepare_home, write_env_file
from evalsvc.ops.supervisor import demo, roster
from evalsvc.ops.supervisor.backends import Backends, application_secrets, child_environment
from evalsvc.ops.supervisor.lock import HomeLock, hold_home
from evalsvc.ops.supervisor.supervisor import ServiceFailed, StopRequested, Supervisor


@dataclass(frozen=True)
class Options:
    checkout: Path
    host: str = "127.0.0.1"
    port: int = 8000
    demo: bool = True


class Progress:
    """One line per step, with the seconds it took."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self.write = write
        self.started = time.monotonic()

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.write(f"  {what:<44} {time.monotonic() - began:5.1f} s")


def run_service(options: Options, write: Callable[[str], None] = print) -> None:
    """Start everything, print where it is, and stay until SIGINT or SIGTERM; then stop everything.

    Raises AlreadyRunning, or ServiceFailed and its like with a sentence for the operator.
    """
    home = prepare_home(evalsvc_home(options.checkout))
    values = load_secrets(home)
    progress = Progress(write)
    with contextlib.ExitStack() as stack:
        lock = stack.enter_context(hold_home(home))
        backends = Backends(home, values, dict(os.environ))
        stack.callback(backends.remove_sockets)
        supervisor = stack.enter_context(Supervisor(home / "logs", report=write))
        write(f"evalsvc starts; its data and logs are in {home}")
        try:
            Start(options, home, values, backends, supervisor, progress, lock, stack).run()
            supervisor.watch()
        except StopRequested:
            write("\nStopping ...")
    write("Stopped. The data is kept; `make up` starts again.")


@dataclass
class Start:
    """The steps of one start, in order."""

    options: Options
    home: Path
    secrets: Mapping[str, str]
    backends: Backends
    supervisor: Supervisor
    progress: Progress
    lock: HomeLock
    resources: contextlib.ExitStack

    def run(self) -> None:
        for spec in self.backends.specs():
            with self.progress.step(f"{spec.name} answers"):
                self.supervisor.wait_ready(self.supervisor.add(spec))
        env, owner_env = self._environments()
        account = self._prepare(owner_env)
        url = self._serve(env)
        self.lock.announce(url)
        if account:
            with self.progress.step("first evaluation"):
                verdict = demo.first_evaluation(url, account["EVALSVC_API_KEY"])
            demo.write_demo_env(self.options.checkout, url, account)
            self.progress.write(demo.banner(url, account, verdict))
        else:
            self.progress.write(f"\n{url} is ready. Ctrl-C stops it.")
        self.progress.write(f"Ready after {time.monotonic() - self.progress.started:.1f} s.")

    def _environments(self) -> tuple[dict[str, str], dict[str, str]]:
        """What the service's processes see, and what the migration sees: only the latter may change tables."""
        with self.progress.step("database roles checked"):
            try:
                urls = self.backends.database_urls()
            except psycopg.Error as error:
                raise ServiceFailed(f"The database refuses the preparation of its roles: {error}") from error
        extra = application_secrets(self.secrets) | self.backends.broker_environment()
        all_urls = urls.environment()
        write_env_file(self.home / "run" / "services.env", extra | all_urls)
        service_urls = {name: url for name, url in all_urls.items() if name != "DATABASE_MIGRATION_URL"}
        metrics = {"PROMETHEUS_MULTIPROC_DIR": str(empty_folder(self.home / "run" / "metrics"))}
        service_env = child_environment(self.home, extra | service_urls | metrics)
        return service_env, child_environment(self.home, extra | all_urls)

    def _prepare(self, env: Mapping[str, str]) -> dict[str, str]:
        """Migrate, and make the demo account; in one process, since each start of Django costs a second or two."""
        flags = ["--prepare"] if self.options.demo else ["--prepare", "--no-demo"]
        command = roster.python("manage.py", "up", *flags, checkout=self.options.checkout, env=env)
        with self.progress.step("database migrated" + (", demo account" if self.options.demo else "")):
            output = self.supervisor.run_step("migrate", command)
        return {str(name): str(value) for name, value in json.loads(output).items()}

    def _serve(self, env: Mapping[str, str]) -> str:
        checkout, host = self.options.checkout, self.options.host
        listener = self.resources.enter_context(roster.listen_on_free_port(host, self.options.port))
        port = listener.getsockname()[1]
        if self.options.port and port != self.options.port:
            self.progress.write(f"  port {self.options.port} is taken, using {port}")
        with self.progress.step("web answers"):
            self.supervisor.wait_ready(self.supervisor.add(roster.web(checkout, env, host, listener)), timeout=120)
        self._start_workers(env)
        address = roster.reachable(host)
        return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"

    def _start_workers(self, env: Mapping[str, str]) -> None:
        """Start workers and clock, and wait until every worker takes work: before that, the service is not ready.

        After the web, whose start would otherwise compete with theirs for the processor.
        """
        checkout = self.options.checkout
        with self.progress.step("workers take work"):
            started = [self.supervisor.add(spec) for spec in roster.workers(checkout, env, self.home)]
            self.supervisor.add(roster.beat(checkout, env, self.home))
            for child in started:
                self.supervisor.wait_ready(child, timeout=300)


def empty_folder(folder: Path) -> Path:
    """The metrics of processes that are gone would be counted again."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    return folder
