"""gunicorn's settings."""

import gc
import os
from pathlib import Path
from typing import Any

from gunicorn.http import wsgi

from evalsvc.local.drain import REQUESTS_SECONDS, MalformedDrain, drain_seconds, refuse_malformed_drain
from evalsvc.ops.serving.drain import forget_earlier_drain
from evalsvc.rest.edge.open_files import allow_many_files


def _bind() -> str:
    host = os.environ.get("EVALSVC_HOST", "127.0.0.1")
    port = os.environ.get("EVALSVC_PORT", "8000")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


try:
    refuse_malformed_drain(os.environ)
except MalformedDrain as exc:
    raise SystemExit(f"evalsvc does not start. {exc}") from None
bind = _bind()
worker_class = "evalsvc.ops.serving.web_worker.WebWorker"  # gthread, with a limit on waiting requests
# At most one process per core: a process stores captures together, so fewer processes put more of them into a commit.
# At least two, because one is restarted now and then.
workers = int(os.environ.get("EVALSVC_WEB_WORKERS") or max(2, min(16, os.cpu_count() or 1)))
# All but 32 may wait for workers (waiting.py); each costs 0.13 MiB. A thread starts only when it is needed.
threads = int(os.environ.get("EVALSVC_WEB_THREADS", "320"))
# Many, so that idle connections stay open: a caller that has to connect again waits in line with all new callers.
worker_connections = max(1000, allow_many_files() - 256)  # 256 files are for other uses than connections
preload_app = True  # imported once, shared by all workers
keepalive = 30  # seconds; longer than a client's pause between two calls, and than a proxy's idle timeout
timeout = 60  # seconds without a sign of life from a worker, not per request
# Seconds from SIGTERM on: so long proxies get to leave, and then requests to end.
graceful_timeout = drain_seconds(os.environ) + REQUESTS_SECONDS
# A heartbeat file must not wait for a disk.
shared_memory = "/dev/shm"  # noqa: S108  # nosec B108 - gunicorn makes a private file there
worker_tmp_dir = shared_memory if Path(shared_memory).is_dir() else None
accesslog = None
logger_class = "evalsvc.ops.serving.access.AccessLogger"  # writes our own line for each request
errorlog = "-"
control_socket_disable = True
# No peer header is trusted here: only EVALSVC_BEHIND_PROXY determines whether a proxy reports that callers used https.
# gunicorn would trust any caller on this machine, and answer contradictory headers with a page of HTML.
forwarded_allow_ips = ""
secure_scheme_headers: dict[str, str] = {}
forwarder_headers = ""
wsgi.SERVER = "evalsvc"  # the header `Server` says what answers, and not by which software


def on_starting(server: object) -> None:
    """Exit before forking if the functions of this version have never been installed in the database."""
    from evalsvc.ops.at_start import refuse_foreign_functions

    refuse_foreign_functions()
    forget_earlier_drain()


def pre_fork(server: object, worker: object) -> None:
    """Import every view, and SciPy, before the fork. Otherwise each worker would import them at its first request."""
    from django.urls import get_resolver

    from evalsvc.stats.basics.scipy_modules import import_scipy

    _ = get_resolver().url_patterns
    import_scipy()
    leave_imports_alone()


def leave_imports_alone() -> None:
    """Exclude imported objects from garbage collection: about two hundred thousand that exist as long as the process.

    The collector would visit all of them during a request and write to each, so that no memory page stayed shared.
    """
    gc.collect()
    gc.freeze()


def child_exit(server: Any, worker: Any) -> None:
    """Remove the gauges of a dead worker from the sum over all processes."""
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        from prometheus_client import multiprocess

        multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
