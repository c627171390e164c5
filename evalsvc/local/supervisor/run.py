"""`make up` or `evalsvc up`: every process of the service on one machine, from an empty folder to the first answer."""

import contextlib
import importlib.util
import os
import socket
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evalsvc.local.disk import DiskWatch, reserve_ballast
from evalsvc.local.drain import DRAIN_FILE_VARIABLE, refuse_malformed_drain
from evalsvc.local.embedded.home import (
    evalsvc_home,
    is_checkout,
    load_secrets,
    prepare_home,
    start_command,
    write_env_file,
)
from evalsvc.local.embedded.urls import DatabaseUrls
from evalsvc.local.process import kill_tree, spawn
from evalsvc.local.supervisor import roster
from evalsvc.local.supervisor.backends import Backends, application_secrets, child_environment
from evalsvc.local.supervisor.children.child import Child
from evalsvc.local.supervisor.demo import accounts, evaluation
from evalsvc.local.supervisor.front.caddy import CaddyFront
from evalsvc.local.supervisor.front.setup import (
    LOOPBACK,
    FrontOptions,
    build_proxied_environment,
    open_front,
    refuse_unreachable,
)
from evalsvc.local.supervisor.lock import HomeLock, hold_demo_env, hold_home
from evalsvc.local.supervisor.preparation import Preparation
from evalsvc.local.supervisor.progress import StartProgress
from evalsvc.local.supervisor.supervisor import ServiceFailed, StopRequested, Supervisor
from evaluators.minilm.files import REMEDY, is_installed

FIRST_PORT = 8000
START_SECONDS = 300  # for each of web and workers
SAYING_SECONDS = 5  # interval between messages about what the start waits for
POLITENESS = 10  # of 19: filling the demo yields to the people who use the service
SILENCE_SECONDS = 20  # for the first sign of life of a worker that has reported ready


@dataclass(frozen=True)
class StartOptions:
    checkout: Path
    """Or the folder in which the package is installed."""
    host: str = "127.0.0.1"
    port: int | None = None
    """The port that was named; None for the first free one from 8000 on."""
    demo: bool = True
    otlp_port: int | None = 4317
    """Of OTLP over gRPC; None: none is taken."""
    https: bool = False
    """Whether Caddy stands before the service. It listens at `host`, and the service on this machine alone."""
    https_port: int | None = None
    """The port that was named for it; None for the first free one from 8443 on."""
    demo_env: Path | None = None
    """The folder for `demo.env`; None for `.evalsvc` in the checkout, or the home of an installed package."""


def run_service(options: StartOptions, write: Callable[[str], None] = print) -> None:
    """Start everything, print where it is, and stay until SIGINT or SIGTERM; then stop everything.

    Raises AlreadyRunning, or ServiceFailed and its like with a sentence for the operator.
    """
    refuse_malformed_drain(os.environ)
    refuse_unreachable(os.environ, has_front=options.https)
    home = prepare_home(evalsvc_home(options.checkout))
    values = load_secrets(home)
    progress = StartProgress(write)
    with contextlib.ExitStack() as stack:
        lock = stack.enter_context(hold_home(home))
        backends = Backends(home, values, dict(os.environ))
        stack.callback(backends.remove_sockets)
        supervisor = stack.enter_context(Supervisor(home / "logs", report=write))
        write(f"evalsvc starts; its data and logs are in {home}")
        reserve_ballast(home)
        supervisor.checks.append(DiskWatch(home, supervisor.report).check)
        try:
            Start(options, home, values, backends, supervisor, progress, lock, stack).run()
            supervisor.watch()
        except StopRequested:
            write("\nStopping ...")
    write(f"Stopped. The data is kept; `{start_command(options.checkout)}` starts again.")


@dataclass
class Start:
    """The steps of one start, in order."""

    options: StartOptions
    home: Path
    secrets: Mapping[str, str]
    backends: Backends
    supervisor: Supervisor
    progress: StartProgress
    lock: HomeLock
    resources: contextlib.ExitStack
    _listener: socket.socket = field(init=False)
    _otlp_listener: socket.socket | None = field(init=False, default=None)
    _otlp_port: int | None = field(init=False)
    _front: CaddyFront | None = field(init=False, default=None)
    _start: str = field(init=False, default_factory=lambda: uuid.uuid4().hex)

    def run(self) -> None:
        url = self._listen()
        self._otlp_port = self._reserve_otlp_port()
        self._front = self._open_front()
        urls = self.backends.predict_urls()
        env, owner_env = self._environments(urls)
        service = self._import_service(env)
        front = self.supervisor.add(self._front.spec(roster.SERVICE_STAGE), must_start=True) if self._front else None
        for spec in self.backends.specs():
            with self.progress.step(f"{spec.name} answers"):
                self.supervisor.wait_ready(self.supervisor.add(spec))
        history_marker = accounts.get_history_marker(self.home)
        if self.options.demo and accounts.load_demo_values(self.home / "demo.json") is None:
            history_marker.touch()
        has_demo = self.options.demo
        preparation = Preparation(
            self.options.checkout, self.home, has_demo, self.backends, self.supervisor, self.progress
        )
        account = preparation.run(urls, owner_env)
        if self._otlp_listener is not None:
            self._otlp_listener.close()
        roster.go_file(self.home).touch()
        self._wait_for(service)
        address = url if front is None else self._wait_for_front(front)
        self._tell(address, account)
        if self.options.demo and history_marker.exists():
            self._fill_history(address, history_marker, owner_env)

    def _fill_history(self, url: str, wanted: Path, env: Mapping[str, str]) -> None:
        """Fill a new demo's history in the background, next to the running service."""
        env = {name: value for name, value in env.items() if name != "DATABASE_MIGRATION_URL"}
        options = ["--url", url, "--wanted", str(wanted)]
        options += ["--ca-file", str(self._front.ca_file)] if self._front else []
        command = roster.manage("seed_demo_history", *options, checkout=self.options.checkout, env=env)
        process = spawn(command, self.home / "logs" / "demo-history.log")
        os.setpriority(os.PRIO_PROCESS, process.pid, POLITENESS)
        self.resources.callback(kill_tree, process)

    def _tell(self, url: str, account: Mapping[str, str]) -> None:
        """Print the address of the service, and what its callers need besides."""
        self.lock.announce(url)
        trust = self._front.trust() if self._front else {}
        if account:
            with self.progress.step("first evaluation"):
                verdict = self._first_verdict(url, account["EVALSVC_API_KEY"])
            values = {**account, **trust}
            filled = accounts.HISTORY if accounts.get_history_marker(self.home).exists() else None
            self.progress.write(evaluation.banner(url, values, verdict, self._write_demo_env(url, values), filled))
        else:
            authority = f" Its authority: EVALSVC_CA_FILE={trust['EVALSVC_CA_FILE']}" if trust else ""
            self.progress.write(f"\n{url} is ready.{authority} Ctrl-C stops it.")
        self._tell_otlp(url)
        if not is_installed():
            self.progress.write(f"Not installed: the models of toxicity, PHI and relevance. {REMEDY}")
        self.progress.write(f"Ready after {time.monotonic() - self.progress.started:.1f} s.")

    def _wait_for_front(self, front: Child) -> str:
        """Wait until Caddy answers; return the address of the service."""
        assert self._front is not None  # noqa: S101  # nosec B101 - it is what `front` runs
        with self.progress.step("https answers"):
            self.supervisor.wait_ready(front)
        return self._front.url

    def _write_demo_env(self, url: str, values: Mapping[str, str]) -> str:
        """Write the file for shells and return its path.

        It goes into the home where the checkout is read-only, or where the file there belongs to a running service.
        """
        if self.options.demo_env:
            return str(evaluation.write_demo_env(self.options.demo_env, url, values))
        if not is_checkout(self.options.checkout):
            return str(evaluation.write_demo_env(self.home, url, values))
        with contextlib.suppress(OSError):
            folder = self.options.checkout / evaluation.DEMO_FOLDER
            if self.resources.enter_context(hold_demo_env(folder)):
                evaluation.write_demo_env(folder, url, values)
                return evaluation.DEMO_ENV
        return str(evaluation.write_demo_env(self.home / evaluation.DEMO_FOLDER, url, values))

    def _first_verdict(self, url: str, key: str) -> str:
        """Run the first evaluation; if it is late or fails, the service stays up and the returned text is a warning."""
        try:
            return str(evaluation.first_evaluation(url, key, self._front.ca_file if self._front else None))
        except ServiceFailed as failure:
            return f"WARNING: {failure}"

    def _listen(self) -> str:
        """Take a port; return the address under which this machine reaches it."""
        host = self._host
        self._listener = self.resources.enter_context(self._bind())
        port = self._listener.getsockname()[1]
        address = roster.reachable(host)
        return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"

    @property
    def _host(self) -> str:
        """Return where the service itself listens."""
        return LOOPBACK if self.options.https else self.options.host

    def _open_front(self) -> CaddyFront | None:
        """Bind the HTTPS port, if the front is enabled."""
        if not self.options.https:
            return None
        return open_front(
            FrontOptions(self.options.host, self.options.https_port),
            home=self.home,
            web=f"{LOOPBACK}:{self._listener.getsockname()[1]}",
            otlp=None if self._otlp_port is None else f"{LOOPBACK}:{self._otlp_port}",
            resources=self.resources,
            write=self.progress.write,
        )

    def _reserve_otlp_port(self) -> int | None:
        """Hold a port for OTLP over gRPC until the receiver starts: gRPC takes no socket that is bound already."""
        if self.options.otlp_port is None:
            return None
        if importlib.util.find_spec("grpc") is None:
            self.progress.write("  no OTLP over gRPC: the extra `grpc` is not installed")
            return None
        listener = roster.listen_on_free_port(self._host, self.options.otlp_port)
        self._otlp_listener = self.resources.enter_context(listener)
        return int(listener.getsockname()[1])

    def _tell_otlp(self, url: str) -> None:
        if self._otlp_port is not None:
            address = url if self._front else f"{url.rpartition(':')[0]}:{self._otlp_port}"
            self.progress.write(f"OTLP over gRPC: {address}")

    @property
    def _parts(self) -> list[str]:
        return [part for part in roster.PARTS if part != roster.OTLP or self._otlp_port is not None]

    def _bind(self) -> socket.socket:
        """Bind the port that was named, and no other: programs call it there. Without one, look for a free one."""
        requested_port = self.options.port
        if requested_port is not None:
            return roster.listen_on_port(self._host, requested_port)
        listener = roster.listen_on_free_port(self._host, FIRST_PORT)
        if (port := listener.getsockname()[1]) != FIRST_PORT:
            self.progress.write(f"  port {FIRST_PORT} is taken, using {port}")
        return listener

    def _environments(self, urls: DatabaseUrls) -> tuple[dict[str, str], dict[str, str]]:
        """What the service's processes see, and what the migration sees: only the latter may change tables."""
        extra = application_secrets(self.secrets) | self.backends.broker_environment()
        all_urls = urls.environment()
        draining = {DRAIN_FILE_VARIABLE: os.environ.get(DRAIN_FILE_VARIABLE) or str(self.home / "run" / "draining")}
        write_env_file(self.home / "run" / "services.env", extra | all_urls | draining)
        service_urls = {name: url for name, url in all_urls.items() if name != "DATABASE_MIGRATION_URL"}
        metrics = {"PROMETHEUS_MULTIPROC_DIR": str(self.backends.metrics_dir)}
        start_env = metrics | draining | {roster.START_VARIABLE: self._start}
        start_env |= build_proxied_environment(os.environ) if self._front else {}
        service_env = child_environment(self.home, extra | service_urls | start_env)
        return service_env, child_environment(self.home, extra | all_urls)

    def _import_service(self, env: Mapping[str, str]) -> Child:
        """Start the service's own process, which imports while the servers start; then it waits for the database."""
        roster.go_file(self.home).unlink(missing_ok=True)
        spec = roster.service(
            self.options.checkout,
            env,
            self.home,
            self._host,
            self._listener,
            parts=self._parts,
            otlp_port=self._otlp_port or 0,
            terminal=self._terminal(),
        )
        return self.supervisor.add(spec, must_start=True)

    def _terminal(self) -> int:
        """Where the service reports to the operator, as this process does."""
        number = os.dup(1)
        self.resources.callback(os.close, number)
        return number

    def _wait_for(self, service: Child) -> None:
        """Wait until every part of the service works, and report the part that the start still waits for."""
        host, port = self._host, self._listener.getsockname()[1]
        with self.progress.step("web answers"):
            self._until(lambda: [] if roster.answers(host, port, self._start) else [roster.WEB])
        with self.progress.step("workers take work"):
            self._until(lambda: roster.missing(self.home, self._parts))
            self.supervisor.wait_ready(service)
        with self.progress.step("every part gives signs of life"):
            silent = self._until(lambda: roster.silent(host, port, self._start), SILENCE_SECONDS)
        if silent:
            self.progress.write(f"  WARNING: no sign of life of {', '.join(silent)}; see {self.home / 'logs'}")

    def _until(self, left: Callable[[], list[str]], timeout: float = START_SECONDS) -> list[str]:
        """Watch over all children until nothing is left to wait for, naming what is; return what is left at the end."""
        deadline, last_reported = time.monotonic() + timeout, list[str]()
        while (waiting := left()) and time.monotonic() < deadline:
            patience = min(deadline - time.monotonic(), SAYING_SECONDS)
            if not self.supervisor.wait_until(lambda: left() != waiting, patience) and waiting != last_reported:
                self.progress.write(f"  waiting for {', '.join(waiting)} (logs in {self.home / 'logs'})")
                last_reported = waiting
        return waiting
