"""`python -m evalsvc.preload`, a child of `make up`: import, wait for the database, fork the parts, mend them."""

import contextlib
import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path

from evalsvc.local.supervisor.roster import (
    GIVES_UP,
    OTLP,
    QUEUE_OF_CLOCK,
    QUEUES_WITH_MODELS,
    WEB,
    WORKERS,
    go_file,
    worker_name,
)
from evalsvc.local.supervisor.supervisor import ServiceFailed, StopRequested, Supervisor
from evalsvc.preload import parts
from evalsvc.preload.imports import import_service, load_models
from evalsvc.preload.parts import ServiceSite

READY_SECONDS = 300


def main() -> None:
    """Fork the parts once the database is ready, and supervise them until the process is stopped."""
    site, part_names = _read_arguments()
    with Supervisor(site.home / "logs", report=_reporter(site)) as supervisor:
        try:
            import_service()
            if part_names & {worker_name(queue) for queue in QUEUES_WITH_MODELS}:
                load_models()
            _wait_for(go_file(site.home), supervisor)
            _run(site, part_names, supervisor)
        except StopRequested:
            return
        except ServiceFailed as failure:
            print(failure, file=sys.stderr, flush=True)
            sys.exit(GIVES_UP)


def _read_arguments() -> tuple[ServiceSite, set[str]]:
    parser = ArgumentParser()
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--listener", type=int, required=True)
    parser.add_argument("--terminal", type=int)
    parser.add_argument("--parts", required=True)
    options = parser.parse_args()
    host = os.environ["EVALSVC_HOST"]
    return ServiceSite(options.home, host, options.listener, options.terminal), set(options.parts.split(","))


def _reporter(site: ServiceSite) -> Callable[[str], None]:
    def report(line: str) -> None:
        with contextlib.suppress(OSError):  # the log is on a full disk; the terminal still shows the line
            print(line, file=sys.stderr, flush=True)
        if site.terminal is not None:
            with contextlib.suppress(OSError):  # the terminal has been closed
                os.write(site.terminal, f"{line}\n".encode())

    return report


def _wait_for(go: Path, supervisor: Supervisor) -> None:
    """Wait until the database has its tables: what has been imported so far needed none."""
    while not go.exists():
        supervisor.check()
        time.sleep(0.02)


def _run(site: ServiceSite, wanted: set[str], supervisor: Supervisor) -> None:
    """Fork all parts and stay."""
    specs = [parts.web(site)] if WEB in wanted else []
    queues = [queue for queue in WORKERS if worker_name(queue) in wanted]
    specs += [parts.worker(site, queue, with_clock=queue == QUEUE_OF_CLOCK) for queue in queues]
    specs += [parts.receiver(site)] if OTLP in wanted else []
    children = [supervisor.add(spec) for spec in specs]
    supervisor.wait_ready(*children, timeout=READY_SECONDS)
    supervisor.watch()


if __name__ == "__main__":
    main()
