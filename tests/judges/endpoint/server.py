"""The scripted endpoint: an HTTP server that plays one behaviour a path, and counts what it is sent."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.judges.endpoint.replies import Reply, Script


class Endpoint(ThreadingHTTPServer):
    """Serves `/<behaviour>/v1/chat/completions`; `sent` holds the bodies of each."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scripts = dict(scripts)
        self.sent: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def base_url(self, name: str) -> str:
        """The address of a behaviour."""
        return f"http://127.0.0.1:{self.server_address[1]}/{name}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        name = self.path.split("/")[1]
        sent = self.server.sent[name]
        sent.append(body)
        self._answer(self.server.scripts[name](body, len(sent) - 1))

    def _answer(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for header, value in reply.headers.items():
            self.send_header(header, value)
        self.send_header("content-length", str(len(reply.content)))
        self.end_headers()
        self.wfile.write(reply.content)

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent."""


@contextmanager
def running_endpoint(scripts: Mapping[str, Script]) -> Iterator[Endpoint]:
    """Serve until the block ends."""
    with Endpoint(scripts) as endpoint:
        thread = threading.Thread(target=endpoint.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield endpoint
        endpoint.shutdown()
        thread.join()
