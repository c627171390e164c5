"""A proxy that loses answers: the service has done the work, and the client never hears of it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

FAULTS = ("hang-up", "error", "walk-away")
"""After the service has answered: cut the connection, or say 500. Or cut it while the service still works."""
DROPPED = {"content-length", "transfer-encoding", "connection", "content-encoding", "keep-alive", "date", "server"}


@dataclass
class Proxy:
    """Where it listens, what it still does to answers, and what it has forwarded."""

    url: str = ""
    faults: deque[str] = field(default_factory=deque)
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path and retry count of each request."""
    threads: list[threading.Thread] = field(default_factory=list)


@contextmanager
def lossy(upstream: str) -> Iterator[Proxy]:
    """Stand before a service; put into `faults` what shall happen to the next answers."""
    proxy = Proxy()
    with httpx.Client(base_url=upstream, timeout=60, trust_env=False) as forward:
        handler = type("Handler", (_Handler,), {"proxy": proxy, "forward": forward})
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                yield proxy
            finally:
                server.shutdown()
                thread.join()
                for waiting in proxy.threads:
                    waiting.join()


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    forward: httpx.Client
    protocol_version = "HTTP/1.1"

    def handle_one(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = self.forward.build_request(
            self.command, self.path, content=body, headers=[(k, v) for k, v in self.headers.items() if k != "Host"]
        )
        self.proxy.seen.append((self.command, self.path, self.headers.get("x-stainless-retry-count", "")))
        fault = self.proxy.faults.popleft() if self.proxy.faults else None
        if fault == "walk-away":
            sent = threading.Event()
            request.extensions["trace"] = lambda name, _: (
                sent.set() if name.endswith("send_request_body.complete") else None
            )
            thread = threading.Thread(target=self.forward.send, args=[request])
            self.proxy.threads.append(thread)
            thread.start()
            sent.wait(30)  # or the retry might overtake it
            self.close_connection = True
            return
        answer = self.forward.send(request)
        if fault == "hang-up":
            self.close_connection = True
        elif fault == "error":
            self.answer(500, [("retry-after-ms", "1")], b"{}")
        else:
            self.answer(answer.status_code, list(answer.headers.multi_items()), answer.content)

    def answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in DROPPED:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = do_DELETE = handle_one

    def log_message(self, format: str, *args: Any) -> None:
        """Be quiet."""
