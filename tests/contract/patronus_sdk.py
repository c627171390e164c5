"""The PyPI package `patronus`, unmodified: its API client in both kinds, its context, and a proxy that loses answers."""

from __future__ import annotations

import asyncio
import inspect
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
from patronus import context
from patronus.api.api_client import PatronusAPIClient
from patronus.init import build_context


def methods() -> set[str]:
    """Return the calls that the client offers, without the suffix of their synchronous twins."""
    names = {name for name, value in vars(PatronusAPIClient).items() if inspect.isfunction(value)}
    return {name.removesuffix("_sync") for name in names if not name.startswith("_")}


class Api:
    """The client, by the names of its asynchronous methods whichever kind is called; what was called is noted."""

    def __init__(self, client: PatronusAPIClient, kind: str, run: Callable[..., Any]) -> None:
        self.client, self.kind, self._run = client, kind, run
        self.names: set[str] = set()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.client, name if self.kind == "async" else f"{name}_sync")

        def call(*args: Any, **kwargs: Any) -> Any:
            self.names.add(name)
            answer = method(*args, **kwargs)
            return self._run(answer) if inspect.isawaitable(answer) else answer

        return call


@contextmanager
def connect(kind: str, url: str, key: str) -> Iterator[Api]:
    """Open the client. One event loop for its whole life: its connections belong to it."""
    with asyncio.Runner() as runner, httpx.Client(trust_env=False, timeout=60) as http:
        http_async = httpx.AsyncClient(trust_env=False, timeout=60)
        client = PatronusAPIClient(client_http_async=http_async, client_http=http, base_url=url, api_key=key)
        yield Api(client, kind, runner.run)
        runner.run(http_async.aclose())


@contextmanager
def initialised(
    url: str, key: str, *, otel_endpoint: str | None = None, **options: Any
) -> Iterator[context.PatronusContext]:
    """Do what `patronus.init()` does, for as long as the block lasts: the package itself does it once per process."""
    scope = {"project_name": "sdk", "app": "shop", "experiment_id": None, "experiment_name": None} | options
    with httpx.Client(trust_env=False, timeout=60) as http:
        ctx = build_context(
            # A service of its own: the package keeps one tracer for each scope, and a stopped one does not start again.
            service=f"tests-{uuid.uuid4().hex[:8]}",
            api_url=url,
            otel_endpoint=otel_endpoint or url,
            otel_exporter_otlp_protocol="http/protobuf",
            api_key=key,
            prompt_providers=["local", "api"],
            prompt_templating_engine="f-string",
            client_http=http,
            # No connection outlives the event loop of the test's call.
            client_http_async=httpx.AsyncClient(
                trust_env=False, timeout=60, limits=httpx.Limits(max_keepalive_connections=0)
            ),
            **scope,
        )
        with context._CTX_PAT.using(ctx):
            yield ctx
        ctx.exporter.shutdown()
        ctx.tracer_provider.shutdown()
        ctx.logger_provider.shutdown()


@dataclass
class LosingProxy:
    """Hands requests on to the service and, as often as told, loses the answer to one that the service has processed."""

    target: str
    n_to_lose: int = 0
    path: str = "/v1/evaluate"
    seen: list[tuple[str, bytes]] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def loses(self, path: str) -> bool:
        """Say whether this answer is lost."""
        with self.lock:
            if path != self.path or not self.n_to_lose:
                return False
            self.n_to_lose -= 1
            return True

    def bodies(self, path: str) -> list[bytes]:
        """Return what was sent there, in order."""
        return [body for to, body in self.seen if to == path]


@contextmanager
def losing_proxy(target: str, **options: Any) -> Iterator[LosingProxy]:
    """Run such a proxy on a port of its own."""
    proxy = LosingProxy(target, **options)
    client = httpx.Client(base_url=target, trust_env=False, timeout=60)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            proxy.seen.append((self.path, body))
            headers = {
                name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")
            }
            answer = client.request(
                self.command, self.path, content=body, headers=headers | {"Accept-Encoding": "identity"}
            )
            proxy.answers.append(answer.content)
            if proxy.loses(self.path):
                self.close_connection = True
                return
            self.send_response(answer.status_code)
            for name in ("Content-Type", "Location", "Retry-After"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_any

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: the test looks at what was seen."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        client.close()
