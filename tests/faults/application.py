"""A caller's application that answers over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, bytes, dict[str, str]]


def as_json(value: Any, status: int = 200, **headers: str) -> Answer:
    return status, value if isinstance(value, bytes) else json.dumps(value).encode(), headers


class Application(ThreadingHTTPServer):
    """A server that answers as a test says, and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer: Callable[[Any], Answer] = lambda body: as_json({"answer": {"text": "4"}})
        self.asked: list[tuple[str, dict[str, str], Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/ask"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Application

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        status, content, headers = self.server.answer(body)
        self.send_response(status)
        for name, value in (headers | {"content-length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Stay silent."""
