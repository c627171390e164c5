"""The gRPC server: TraceService and LogsService of OTLP, and gRPC's health service."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
from django.conf import settings
from django.db import close_old_connections

from evalsvc.rest.basics.request_id import HEADER, begin_request_id
from evalsvc.rest.problems import Problem, as_problem
from evalsvc.telemetry.receiver.exports import EXPORTS, ExportService, export_batch
from evalsvc.telemetry.receiver.statuses import build_trailers, get_status_code

HEALTH = "/grpc.health.v1.Health/Check"
# HealthCheckResponse with the status SERVING or NOT_SERVING: one field, so no package is needed to write it.
SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"
THREADS = 16
MOST_WAITING = 256
"""Calls at once. Those without a thread have sent no message yet: it is read when it is their turn."""
MESSAGE_SECONDS = 10
"""For the message of a call that has begun; who takes longer loses its thread."""
GRACE_SECONDS = 15
PAUSE_SECONDS = 0.2
"""Between two tries to listen on a port that is taken."""
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

log = logging.getLogger(__name__)


class Receiver(grpc.GenericRpcHandler):
    """Finds who answers a call."""

    def __init__(self) -> None:
        self.is_stopping = False

    def service(self, handler_call_details: Any) -> Any:
        """Return the handler of a method; None for one that is not served."""
        method = handler_call_details.method
        if method == HEALTH:
            return grpc.unary_unary_rpc_method_handler(self.health)
        if (export := EXPORTS.get(method)) is None:
            return None
        # As a stream of one message: the handler reads it when it knows who sends it.
        return grpc.stream_unary_rpc_method_handler(partial(answer_export, export))

    def health(self, body: bytes, context: Any) -> bytes:
        """Report that exports are accepted, until the server stops."""
        return NOT_SERVING if self.is_stopping else SERVING


def answer_export(service: ExportService, messages: Iterator[bytes], context: Any) -> bytes:
    """Answer one export, or abort the call with the problem's status."""
    metadata = parse_metadata(context.invocation_metadata())
    begin_request_id(metadata.get(HEADER.lower()))
    close_old_connections()
    try:
        return export_batch(service, metadata, partial(receive_message, messages, context))
    except Exception as exc:
        problem = as_problem(exc)
        if problem is None:
            if not context.is_active():  # the client has disconnected, and no response can be sent
                raise
            log.error("unhandled exception", exc_info=exc)
            problem = Problem()
    finally:
        # The connection goes back to the pool.
        close_old_connections()
    context.set_trailing_metadata(build_trailers(problem))
    context.abort(get_status_code(problem), problem.detail)
    raise AssertionError("abort raises")


def parse_metadata(metadata: Any) -> dict[str, str]:
    """Return the metadata that is text; of a key that is sent twice both, with a comma, as servers of HTTP do."""
    metadata_values: dict[str, str] = {}
    for key, value in metadata:
        if isinstance(value, str):
            metadata_values[key] = f"{metadata_values[key]},{value}" if key in metadata_values else value
    return metadata_values


def receive_message(messages: Iterator[bytes], context: Any) -> bytes:
    """Return the message of a call, or raise 400 for a call without one. A slow sender is cancelled."""
    with deadline(MESSAGE_SECONDS, context.cancel):
        body = next(messages, None)
    if body is None:
        raise Problem("The call carries no message.", code="bad_request")
    return body


@contextmanager
def deadline(seconds: float, then: Callable[[], object]) -> Iterator[None]:
    """Call `then` if the block takes longer."""
    timer = threading.Timer(seconds, then)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def make_server(receiver: Receiver) -> Any:
    """Return a server that is not started."""
    options = [
        # gRPC cuts what is larger by a status that exporters send again; ours tells them to drop it.
        ("grpc.max_receive_message_length", 2 * settings.TELEMETRY_MAX_BYTES),
        # Otherwise a second process could listen on the same port, and get every other connection.
        ("grpc.so_reuseport", 0),
    ]
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="export")
    return grpc.server(pool, handlers=(receiver,), options=options, maximum_concurrent_rpcs=MOST_WAITING)


def bind(server: Any, host: str, port: int) -> int:
    """Listen; return the port, which the system chooses for 0. Raises OSError."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        bound = int(server.add_insecure_port(address))
    except RuntimeError:
        bound = 0
    if not bound:
        raise OSError(f"{address} cannot be listened on: another program has it, or it is no address of this machine.")
    return bound


def serve(host: str, port: int, *, ready: Path | None = None, patience_seconds: float = 0) -> None:
    """Serve until SIGTERM or SIGINT; then let calls end. In the main thread of a process that never forks.

    The file `ready` is written with the port when exports are taken. Raises OSError for a port that stays taken for
    `patience_seconds`.
    """
    # Blocked before any thread starts, so that only this thread receives the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    receiver = Receiver()
    server = make_server(receiver)
    deadline_at = time.monotonic() + patience_seconds
    while True:
        try:
            port = bind(server, host, port)
            break
        except OSError:
            if time.monotonic() >= deadline_at:
                raise
        if signal.sigtimedwait(STOP_SIGNALS, PAUSE_SECONDS) is not None:
            return
    server.start()
    log.info("OTLP over gRPC listening on port %s of %s", port, host)
    if ready is not None:
        ready.write_text(str(port))
    signal.sigwait(STOP_SIGNALS)
    receiver.is_stopping = True
    server.stop(GRACE_SECONDS).wait()
