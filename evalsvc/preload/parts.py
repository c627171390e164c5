"""The parts of the service, each a child forked from the preloaded process."""

import os
import signal
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evalsvc.local.disk import explain_shortage
from evalsvc.local.drain import REQUESTS_SECONDS, drain_seconds
from evalsvc.local.launch import die_with_parent
from evalsvc.local.supervisor.children.child import ChildSpec
from evalsvc.local.supervisor.children.forked import Fork
from evalsvc.local.supervisor.roster import (
    OTLP,
    PORT_SECONDS,
    START_VARIABLE,
    WEB,
    WORKERS,
    answers,
    ready_file,
    worker_name,
)

GUNICORN_CONFIG = Path(__file__).parents[1] / "ops" / "gunicorn_conf.py"


@dataclass(frozen=True)
class ServiceSite:
    """Where the service runs: its home, its listening socket, and the open file of the operator's terminal."""

    home: Path
    host: str
    listener: int
    terminal: int | None = None

    @property
    def port(self) -> int:
        """Return the port of the listening socket."""
        return int(os.environ["EVALSVC_PORT"])

    def explain_crash(self) -> str:
        """Return the reason why any part may have ended; empty if none is known."""
        return explain_shortage(self.home)


def web(site: ServiceSite) -> ChildSpec:
    """Describe the web process: gunicorn, on the socket that is listening already."""
    work = Fork(
        "evalsvc: gunicorn",
        partial(run_gunicorn, site.listener),
        # On this signal gunicorn also ends its own processes.
        death_signal=signal.SIGQUIT,
        close_fds=_terminal(site),
    )
    start = os.environ.get(START_VARIABLE)
    return ChildSpec(
        WEB,
        lambda: work,
        lambda: answers(site.host, site.port, start),
        stop_timeout=REQUESTS_SECONDS + 5 + drain_seconds(os.environ),
        explain_crash=site.explain_crash,
    )


def worker(site: ServiceSite, queue: str, *, with_clock: bool) -> ChildSpec:
    """Describe the worker of one queue. It is ready once it takes work, and then writes its ready file."""
    schedule = site.home / "beat-schedule" if with_clock else None
    ready = ready_file(site.home, worker_name(queue))
    work = Fork(
        f"evalsvc: celery worker -Q {queue}",
        partial(run_worker, queue, ready, schedule),
        close_fds=(site.listener, *_terminal(site)),
    )

    def begin() -> Fork:
        ready.unlink(missing_ok=True)  # left there by an earlier run
        return work

    return ChildSpec(worker_name(queue), begin, ready.exists, stop_timeout=20, explain_crash=site.explain_crash)


def receiver(site: ServiceSite) -> ChildSpec:
    """Describe the process that takes spans and logs over gRPC. It writes its ready file when it does."""
    ready = ready_file(site.home, OTLP)
    work = Fork(
        "evalsvc: otlp over grpc", partial(run_receiver, site, ready), close_fds=(site.listener, *_terminal(site))
    )

    def begin() -> Fork:
        ready.unlink(missing_ok=True)  # left there by an earlier run
        return work

    return ChildSpec(OTLP, begin, ready.exists, stop_timeout=20, explain_crash=site.explain_crash)


def run_receiver(site: ServiceSite, ready: Path) -> None:
    """Receive exports until the process is stopped.

    gRPC is imported here, after the fork; nothing is forked after that.
    """
    from evalsvc.ops.at_start import refuse_foreign_functions
    from evalsvc.telemetry.receiver.server import serve

    refuse_foreign_functions()
    serve(site.host, int(os.environ["EVALSVC_OTLP_GRPC_PORT"]), ready=ready, patience_seconds=PORT_SECONDS)


def run_gunicorn(listener: int) -> None:
    """Become gunicorn."""
    from gunicorn.app.wsgiapp import run

    options = ["--config", str(GUNICORN_CONFIG), "--bind", f"fd://{listener}"]
    sys.argv = ["gunicorn", *options, "evalsvc.wsgi:application"]
    run()


def run_worker(queue: str, ready: Path, schedule: Path | None) -> None:
    """Run a worker. With a schedule it runs the clock too."""
    from celery import platforms
    from celery.signals import worker_process_init

    from evalsvc.preload.clock import tick_beside_worker

    os.environ["EVALSVC_READY_FILE"] = str(ready)
    parent = os.getpid()

    def die_with_worker(**kwargs: object) -> None:
        die_with_parent(parent, signal.SIGKILL)

    worker_process_init.connect(die_with_worker, weak=False)
    # Celery does the same, but imports a parser of C for it: 7 MB in each process of a pool.
    platforms._set_pdeathsig = lambda number: die_with_parent(os.getppid(), number)
    if schedule is not None:
        tick_beside_worker(schedule)
    worker = build_worker(queue)
    worker.start()
    sys.exit(worker.exitcode)


def build_worker(queue: str) -> Any:
    """Make the worker as `celery worker` would. That command imports a shell, which takes 8 MB in every process."""
    from celery.concurrency import get_implementation
    from celery.utils.nodenames import host_format

    from evalsvc.celery import app

    pool, concurrency = WORKERS[queue]
    return app.Worker(
        hostname=host_format(f"{queue}@%h"),
        pool_cls=get_implementation(pool),
        concurrency=concurrency,
        queues=[queue],
        without_mingle=True,
        without_gossip=True,
    )


def _terminal(site: ServiceSite) -> tuple[int, ...]:
    return () if site.terminal is None else (site.terminal,)
