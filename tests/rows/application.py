"""An application of a caller's, over HTTP: it answers, fails where it is told to, and counts how often it is asked."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Page = Callable[[Any], Any]
"""From the request's JSON to the answer's; what it raises is a 500."""


class Application:
    """Pages by path, and the bodies that each was asked with."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.pages: dict[str, Page] = {}
        self.asked: dict[str, list[Any]] = {}
        self.calls: Counter[str] = Counter()

    def serve(self, path: str, page: Page) -> str:
        """Answer at a path from now on, counted from zero; return its address."""
        self.pages[path], self.asked[path], self.calls[path] = page, [], 0
        return f"{self.url}{path}"


@contextmanager
def running_application() -> Iterator[Application]:
    """Serve until the block ends."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"null")
            with lock:
                application.calls[self.path] += 1
                application.asked[self.path].append(body)
            try:
                status, answer = 200, application.pages[self.path](body)
            except Exception as exc:
                status, answer = 422, {"error": f"{type(exc).__name__}: {exc}"}
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    application = Application(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield application
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
